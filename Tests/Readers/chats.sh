# A store of WhatsApp, read by whatsapp-chat-exporter and by MVT: conversations, groups, messages with their links and media. The
# shared store has no rows, so that those of rows/ are added. The members of objects are conversations in the order of the table and
# messages by their time, so their order is compared, too.
orders=objects
count='import json, sys; print(sum(len(chat["messages"]) for chat in json.load(open(sys.argv[1] + "/chats")).values()))'

put() {
    mkdir -p "$place/private/var/mobile/Containers/Shared/AppGroup/A"
    cp "$1" "$place/private/var/mobile/Containers/Shared/AppGroup/A/ChatStorage.sqlite"
}

ask() {
    local store=$place/private/var/mobile/Containers/Shared/AppGroup/A/ChatStorage.sqlite
    mkdir -p "$place/made"
    run_program wtsexporter --ios --db "$store" --output "$place/made" --json "$answers/chats" --no-html --no-avatar --no-banner
    run_program mvt-ios --disable-update-check --disable-indicator-update-check check-fs --module Whatsapp --output "$place/mvt" \
        "$place"
    cp "$place/mvt/whatsapp.json" "$answers/messages"
}

read_stores() {
    install wtsexporter whatsapp-chat-exporter
    install mvt-ios mvt
    with_rows "$shared/whatsapp/ChatStorage.sqlite" chats
    compare "$folder/chats.sqlite"
}
