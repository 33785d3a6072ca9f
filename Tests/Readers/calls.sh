# A call history, read by MVT. No such store is at hand: the one of calls/ is our own, of type XML, and what MVT says of the store of
# type SQLite that is made of it must be expected.json.
count='import json, sys; print(len(json.load(open(sys.argv[1] + "/calls"))))'

put() {
    mkdir -p "$place/private/var/mobile/Library/CallHistoryDB"
    cp "$1" "$place/private/var/mobile/Library/CallHistoryDB/CallHistory.storedata"
}

ask() {
    run_program mvt-ios --disable-update-check --disable-indicator-update-check check-fs --module Calls --output "$place/mvt" "$place"
    cp "$place/mvt/calls.json" "$answers/calls"
}

read_stores() {
    install mvt-ios mvt
    "$command" migrate "$here/calls/CallHistory.xml" "$folder/CallHistory.sqlite" --destination-type sqlite \
        --from "$here/calls/CallHistory.xcdatamodel" --to "$here/calls/CallHistory.xcdatamodel" >"$folder/log" 2>&1 \
        || fail "the store of CallHistory.xml: $(tail -3 "$folder/log")"
    compare "$folder/CallHistory.sqlite"
    diff -u "$here/calls/expected.json" "$folder/raw/CallHistory/1/calls" || fail "the calls are others than those of the XML store"
}
