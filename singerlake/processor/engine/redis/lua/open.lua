-- format, shards -> {format, shards} as they are: whoever opens first decides.
call('HSETNX', P .. 'meta', 'format', ARGV[1])
call('HSETNX', P .. 'meta', 'shards', ARGV[2])
return call('HMGET', P .. 'meta', 'format', 'shards')
