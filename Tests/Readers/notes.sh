# Stores of Apple's Notes, read by apple-notes-parser: accounts, folders, notes with text, tags, links and attachments. The stores
# are those of its own tests, one for each of five versions of macOS; they come with its source package. A store must say the same
# after a migration to the model of each later version.
count='import json, sys; print(len(json.load(open(sys.argv[1] + "/notes"))["notes"]))'

put() {
    cp "$1" "$place/NoteStore.sqlite"
    if [ -e "$1-wal" ]; then cp "$1-wal" "$place/NoteStore.sqlite-wal"; fi
}

ask() {
    run_program apple-notes-parser --database "$place/NoteStore.sqlite" export "$answers/notes"
    for question in stats attachments; do
        run_program apple-notes-parser --database "$place/NoteStore.sqlite" "$question"
        cp "$folder/log" "$answers/$question"
    done
}

read_stores() {
    install apple-notes-parser apple-notes-parser
    local version
    version=$("$programs/pip" show apple-notes-parser 2>/dev/null | sed -n 's/^Version: //p')
    "$programs/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$folder/source" \
        "apple-notes-parser==$version" >"$folder/log" 2>&1 || cannot "its source package is absent: $(tail -1 "$folder/log")"
    tar xzf "$folder"/source/*.tar.gz -C "$folder/source"
    local stores
    mapfile -t stores < <(find "$folder/source" -name 'NoteStore-*.sqlite' | sort -V)
    while [ "${#stores[@]}" -gt 0 ]; do
        compare "${stores[@]}"
        stores=("${stores[@]:1}")
    done
}
