# Stores of macOS: knowledgeC (use of apps and of Safari) and the accounts, read by plaso (log2timeline). The shared stores have no
# rows, so that those of rows/ are added.
count='import sys; print(len(open(sys.argv[1] + "/events").readlines()) - 3)'

put() {
    rm -f "$place"/*
    cp "$1" "$place/store.db"
}

ask() {
    local plaso=$folder/events.plaso
    rm -f "$plaso"
    run_program log2timeline --quiet --unattended --single_process --status_view none --logfile "$folder/plaso.log" \
        --parsers sqlite --storage_file "$plaso" "$place/store.db"
    run_program psort --quiet --unattended --status_view none --logfile "$folder/plaso.log" --output_format dynamic \
        --fields datetime,timestamp_desc,data_type,message --write "$answers/events" "$plaso"
}

read_stores() {
    install log2timeline plaso
    with_rows "$shared/plaso/knowledgec-10.13.db" knowledge
    with_rows "$shared/plaso/Accounts3.sqlite" accounts
    compare "$folder/knowledge.sqlite"
    compare "$folder/accounts.sqlite"
}
