#!/usr/bin/env bash
# A lake from nothing, in the folder that is named: land, look, find, replay, load, show as pages.
# Every command is shown before it runs, as a person would type it.
set -euo pipefail

folder=$1
tap=tap-shop--sample
lake=$folder/lake
mkdir -p "$folder"

export SINGERLAKE_ROOT=$lake TAP_SINGERLAKE_LAKE_ROOT=$lake LOGLEVEL=WARNING
export TARGET_SINGERLAKE_LAKE_ROOT=$lake TARGET_SINGERLAKE_TAP_ID=$tap

bold='' green='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' green=$'\033[32m' plain=$'\033[0m'
fi
title() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
run() { printf '%s$%s %s\n' "$green" "$plain" "$*"; eval "$*"; }

title "Land what a tap of a shop has sent; the states that come out are safe to go on from"
run "target-singerlake --config ENV < singerlake/cli/shop.singer"

title "Look at it"
run "singerlake ls"
run "singerlake diff $tap orders"
run "singerlake runs"
run "singerlake check"

title "Find the files of a stream, of a time or of a run"
run "singerlake find $tap orders --from 2026-01-01 --format table"
run "singerlake find --stream customers --latest"

title "Replay it, byte for byte, into any target"
run "TAP_SINGERLAKE_LINEAGE=lake tap-singerlake --config ENV > $folder/replayed.singer"
run "grep -m 3 RECORD $folder/replayed.singer"

title "Trace it: where a stream came from, and what was made of it"
run "singerlake lineage show $tap orders"

title "Query it"
run "singerlake sql 'select name, sum(total) as total from orders join customers on customers.id = customer_id group by all order by all'"

title "Run a job on each commit, in order"
run "singerlake process run --engine sqlite:///$folder/process.db --until-idle --poll 0.2 -- sh -c 'cat >> $folder/processed.jsonl'"
run "grep -c tap-shop $folder/processed.jsonl"
run "singerlake process check --engine sqlite:///$folder/process.db"

title "Wait until today's load is complete"
run "singerlake wait $tap/orders --window D"

title "Load it in Spark"
run "python sample/demo_spark.py $lake"

title "Show it as pages"
run "singerlake site build --out $folder/site --check"
printf '\nOpen %s/site/index.html in a browser. The lake is in %s.\n' "$folder" "$lake"
