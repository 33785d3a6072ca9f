# Photos libraries, read by osxphotos: albums, keywords, persons, places, and all that it knows of each photo.
count='import json, sys; print(len(json.load(open(sys.argv[1] + "/dump"))))'

put() {
    mkdir -p "$place/A.photoslibrary/database"
    cp "$1" "$place/A.photoslibrary/database/Photos.sqlite"
    if [ -e "$1-wal" ]; then cp "$1-wal" "$place/A.photoslibrary/database/Photos.sqlite-wal"; fi
}

ask() {
    for question in albums keywords persons places labels dump; do
        run_program osxphotos "$question" --db "$place/A.photoslibrary" --json
        # Its first lines may tell something else.
        cp "$folder/log" "$answers/$question"
    done
}

read_stores() {
    install osxphotos osxphotos
    for store in "$shared"/photos/*.sqlite; do compare "$store"; done
}
