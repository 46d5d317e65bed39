"""The text of every explained error, by code: a title, what it means, and the next step."""

from dataclasses import dataclass

from atlas_desktop.locale import N_


@dataclass(frozen=True, slots=True)
class ErrorText:
    """English texts with placeholders. `what` and `next_step` are empty where the code gives them.

    `here` is the next step in the interface, where it differs from that of the command line. Its `{key}` is
    the key of `action`.
    """

    title: str
    what: str = ""
    next_step: str = ""
    here: str = ""
    action: str = ""


ERRORS = {
    "unexpected": ErrorText(
        N_("Something unexpected went wrong"),
        what=N_("Atlas ran into an unknown error ({kind}). Everything saved earlier is safe."),
        next_step=N_("Try again. If it happens again, run `atlas doctor` to check everything."),
    ),
    "disk_full": ErrorText(
        N_("The disk is full"),
        what=N_("Some data could not be written. Everything saved earlier is safe."),
        next_step=N_("Free some space, then try again."),
    ),
    "system": ErrorText(
        N_("System error"),
        what=N_("{reason}. Everything saved earlier is safe."),
        next_step=N_("Check the permissions and the free space of the home folder."),
    ),
    "already_running": ErrorText(
        N_("This home folder is already in use"),
        what=N_(
            "Another Atlas{who} is using it, and two instances would overwrite each other's data. No "
            "changes were made."
        ),
        next_step=N_("Use the other window, or close it first."),
    ),
    "door_no_token": ErrorText(
        N_("A token is needed"),
        what=N_("Every request needs the token of a client."),
        next_step=N_(
            "Send it as `Authorization: Bearer TOKEN`. `atlas clients add` makes one and shows it once."
        ),
    ),
    "door_no_token_given": ErrorText(
        N_("A token is needed"),
        what=N_("The client's token is missing."),
        next_step=N_("Set ATLAS_CLIENT_TOKEN, or store the token in a file and pass it with --token-file."),
    ),
    "door_wrong_token": ErrorText(
        N_("Unknown token"),
        what=N_("No client has this token, or it was revoked."),
        next_step=N_("Check the token. `atlas clients list` shows the clients."),
    ),
    "door_scope": ErrorText(
        N_("Not allowed"),
        what=N_("This client may not do that: it lacks the scope {scope}."),
        next_step=N_("Add a client with that scope: `atlas clients add NAME --scopes …`."),
    ),
    "door_host": ErrorText(
        N_("Wrong host"),
        what=N_("The request names another host than this computer."),
        next_step=N_("Use the address that Atlas shows, with localhost or 127.0.0.1."),
    ),
    "door_origin": ErrorText(
        N_("Not from web pages"),
        what=N_("The request comes from a web page, and Atlas does not answer web pages."),
        next_step=N_("Use a program that runs on this computer."),
    ),
    "door_rate": ErrorText(
        N_("Too many requests"),
        what=N_("This client may make {rate} requests a minute."),
        next_step=N_("Wait a moment, or add a client with a higher rate."),
    ),
    "door_busy": ErrorText(
        N_("Busy"),
        what=N_("Too many requests are already waiting."),
        next_step=N_("Wait a moment, then send it again."),
    ),
    "door_too_large": ErrorText(
        N_("The request is too large"),
        what=N_("A request may be at most {limit}."),
        next_step=N_("Send less at once."),
    ),
    "door_too_slow": ErrorText(
        N_("The request took too long"),
        what=N_("It was not complete after {seconds} seconds."),
        next_step=N_("Send it again."),
    ),
    "door_bad_request": ErrorText(
        N_("The request cannot be understood"),
        what=N_("{why}"),
        next_step=N_("docs/serve.md describes the requests, with examples."),
    ),
    "door_not_found": ErrorText(
        N_("Nothing here"),
        what=N_("Atlas offers nothing at this address."),
        next_step=N_("docs/serve.md lists the addresses."),
    ),
    "door_unknown_model": ErrorText(
        N_("Model not available"),
        what=N_("The models are: {models}."),
        next_step=N_("Ask for one of these; `atlas` is the chosen model with your memory."),
    ),
    "door_private": ErrorText(
        N_("The private room is closed to programs"),
        what=N_("Programs see the open room only, and nothing off the record."),
        next_step=N_("Move what they should see to the open room."),
    ),
    "door_project": ErrorText(
        N_("Another project"),
        what=N_("This client sees its own project and nothing else."),
        next_step=N_("Leave the project out, or use another client."),
    ),
    "door_isolated": ErrorText(
        N_("This project is isolated"),
        what=N_("Only a client of that project sees what is in it."),
        next_step=N_("Add a client for it: `atlas clients add NAME --project PROJECT --scopes …`."),
    ),
    "door_not_its_own": ErrorText(
        N_("Not found"),
        what=N_("This client cannot see anything with this id."),
        next_step=N_("Use an id from one of its own searches."),
    ),
    "door_address": ErrorText(
        N_("Only on this computer"),
        what=N_("{host} can be reached from other computers, so Atlas does not listen there."),
        next_step=N_("Use 127.0.0.1, or `--socket PATH`. For other computers, use SSH with `-L`."),
        here=N_("Other programs ask at 127.0.0.1; {key} sets the port, in the section “Doors”."),
        action="settings.show",
    ),
    "door_port": ErrorText(
        N_("The address cannot be used"),
        what=N_("{where}: {why}."),
        next_step=N_("Choose another one with `--port` or `--socket`."),
        here=N_("Choose another port: {key}, section “Doors”."),
        action="settings.show",
    ),
    "bad_client": ErrorText(
        N_("The client cannot be added"),
        what=N_("{why} No changes were made."),
        next_step=N_("Example: `atlas clients add editor --scopes chat,recall`."),
        here=N_("Add it again with {key}: a name, and at least one scope."),
        action="doors.clients",
    ),
    "bad_setting": ErrorText(
        N_("Invalid setting"),
        what=N_("{where}: {reason}. The file was not changed."),
        next_step=N_(
            "`atlas config list` shows all settings and their allowed values; `atlas "
            "config edit` opens the file."
        ),
        here=N_("{key} shows all settings and their allowed values, and resets them."),
        action="settings.show",
    ),
    "unknown_setting": ErrorText(
        N_("Unknown setting"),
        what=N_("{where} is not a setting."),
        next_step=N_("`atlas config list` shows all settings."),
        here=N_("{key} shows all settings."),
        action="settings.show",
    ),
    "usage": ErrorText(
        N_("Command failed"),
        next_step=N_("See `atlas --help`."),
    ),
    "no_such_home": ErrorText(
        N_("Home folder not found"),
        what=N_("Its path names a user who does not exist."),
        next_step=N_("Set --home or ATLAS_HOME to the path of a folder."),
    ),
    "unsafe_home": ErrorText(
        N_("The home folder is not safe to use"),
    ),
    "declined": ErrorText(
        N_("No changes made"),
        what=N_("You did not confirm."),
        next_step=N_("Run the command again at any time. Use --yes to confirm in advance."),
    ),
    "interrupted": ErrorText(
        N_("Stopped"),
        what=N_("The command was interrupted. Everything saved earlier is safe."),
        next_step=N_("Run it again at any time."),
    ),
    "out_of_memory": ErrorText(
        N_("Not enough memory"),
        what=N_("The system gave Atlas no more memory. Everything saved earlier is safe."),
        next_step=N_(
            "Close other programs, or raise the memory limit that Atlas was started "
            "with (`ulimit -v`). Then try again."
        ),
    ),
    "no_vault": ErrorText(
        N_("There is no vault yet"),
        what=N_("This home folder is not set up yet."),
        next_step=N_("Run `atlas` for guided setup, or `atlas vault create`."),
        here=N_("Restart Atlas: it guides you through the setup."),
    ),
    "vault_exists": ErrorText(
        N_("A vault already exists"),
        what=N_(
            "There is a vault or its data here. A new key would make it unreadable. No changes were made."
        ),
        next_step=N_("Unlock it, or use another home folder (--home)."),
        here=N_("Restart Atlas, and unlock it."),
    ),
    "wrong_passphrase": ErrorText(
        N_("Wrong passphrase"),
        what=N_("The key file is intact. Only the passphrase is wrong. No changes were made."),
        next_step=N_("Try again, or use your recovery key: `atlas vault change-passphrase --recovery-key`."),
        here=N_("Try again, or use your recovery key."),
    ),
    "recovery_key_mistyped": ErrorText(
        N_("The recovery key has a typo"),
        what=N_("Its built-in checksum does not match. No changes were made."),
        next_step=N_("Compare it with your copy, group by group."),
    ),
    "wrong_recovery_key": ErrorText(
        N_("This recovery key does not open this vault"),
        what=N_(
            "It has no typing mistake, but belongs to another vault, or a newer key has replaced it. "
            "No changes were made."
        ),
        next_step=N_("Find the latest recovery key of this vault, or use the passphrase."),
    ),
    "too_many_attempts": ErrorText(
        N_("Too many wrong attempts"),
        what=N_(
            "You can enter the next passphrase or recovery key in {seconds} s. This one was not checked."
        ),
        next_step=N_("Wait, then try again."),
    ),
    "keyslots_missing": ErrorText(
        N_("The key file is missing"),
        what=N_(
            "Both copies of {file} are missing. Nobody can open the database without "
            "it. No changes were made."
        ),
        next_step=N_("Restore a backup: `atlas vault restore FILE` shows what you would lose."),
    ),
    "keyslots_damaged": ErrorText(
        N_("The key file is damaged"),
        what=N_("Neither copy can be read, so no passphrase can be checked. No changes were made."),
        next_step=N_("Restore a backup: `atlas vault restore FILE` shows what you would lose."),
    ),
    "weak_passphrase": ErrorText(
        N_("The passphrase is too short"),
        what=N_("It needs at least {minimum} characters."),
        next_step=N_("Use four or five words that mean something only to you. They are easy to type."),
    ),
    "keyring_unavailable": ErrorText(
        N_("The system keyring cannot be used"),
        what=N_("{trouble}{where}. No changes were made."),
        next_step=N_(
            "Unlock with your passphrase or recovery key; `atlas vault keyring off` removes the keyring slot."
        ),
        here=N_("Unlock with your passphrase or recovery key."),
    ),
    "locked": ErrorText(
        N_("The vault is locked"),
        what=N_("No passphrase was given, and the system keyring does not unlock this vault."),
        next_step=N_("Use --passphrase-file or --passphrase-fd, or run the command in a terminal."),
        here=N_("Unlock with your passphrase or recovery key."),
    ),
    "room_missing": ErrorText(
        N_("The database is missing"),
        what=N_("The key file exists, but its database does not. No changes were made."),
        next_step=N_("Restore a backup: `atlas vault restore FILE` shows what you would lose."),
    ),
    "not_a_room": ErrorText(
        N_("The database cannot be opened"),
        what=N_(
            "{file} does not open with this vault's key: it belongs to another vault, "
            "is damaged, or is cut short. It was not changed."
        ),
        next_step=N_(
            "Restore a backup with `atlas vault restore`, or recover readable data "
            "with `atlas vault salvage`."
        ),
    ),
    "future_schema": ErrorText(
        N_("This vault is from a newer Atlas"),
        what=N_("Its format is {found}; this version supports up to {known}. It was not changed."),
        next_step=N_("Install the newer version of Atlas to open it."),
    ),
    "upgrade_failed": ErrorText(
        N_("This vault could not be upgraded"),
        what=N_(
            "Of {sessions_held} conversations with {messages_held} messages, the "
            "upgrade produced {sessions_made} with {messages_made}. It was undone, and "
            "nothing is lost."
        ),
        next_step=N_("Keep using your previous version of Atlas, and report this as a bug in the new one."),
    ),
    "room_damaged": ErrorText(
        N_("The database is damaged"),
        what=N_("One of its pages is damaged. Atlas stopped to avoid overwriting it."),
        next_step=N_(
            "`atlas vault salvage` recovers readable data and keeps the old files. Or restore a backup."
        ),
    ),
    "room_moved": ErrorText(
        N_("The room file is missing"),
        what=N_(
            "It was removed or replaced while Atlas had it open. Nothing more is "
            "saved, because it would be lost when Atlas closes. You can still read "
            "what is open."
        ),
        next_step=N_(
            "Before you close Atlas, export what you want to keep with `/export`. Then "
            "put the file back, or restore a backup."
        ),
    ),
    "storage_full": ErrorText(
        N_("Writing to the disk failed"),
        what=N_("The disk is full or refuses writes. Everything saved earlier is safe."),
        next_step=N_("Free some space, then try again."),
    ),
    "storage_busy": ErrorText(
        N_("Another program is using the database"),
        what=N_("It stayed locked for too long. No changes were made."),
        next_step=N_("Close the other program and try again."),
    ),
    "room_closed": ErrorText(
        N_("The room is closed"),
        what=N_("It was locked during this operation."),
        next_step=N_("Unlock it and try again."),
    ),
    "parcel_unreadable": ErrorText(
        N_("A conversation that was being moved cannot be opened"),
        what=N_(
            "It was moving between rooms, and these rooms do not match: one of them "
            "was restored from a backup. No changes were made."
        ),
        next_step=N_("Restore both rooms from the same backup."),
    ),
    "session_binned": ErrorText(
        N_("This conversation is in the bin"),
        what=N_("Nothing was sent or changed."),
        next_step=N_("Restore it first with `atlas sessions restore`."),
        here=N_("Restore it first: {key}, then the bin."),
        action="history.show",
    ),
    "session_not_found": ErrorText(
        N_("Conversation not found"),
        next_step=N_("`atlas sessions list` lists conversations; `--binned` shows the bin."),
        here=N_("{key} lists all conversations, also those in the bin."),
        action="history.show",
    ),
    "message_not_found": ErrorText(
        N_("Message not found"),
        next_step=N_("`atlas sessions list` lists conversations; `--binned` shows the bin."),
        here=N_("{key} lists all conversations, also those in the bin."),
        action="history.show",
    ),
    "summary_not_found": ErrorText(
        N_("Summary not found"),
        next_step=N_("`atlas sessions list` lists conversations; `--binned` shows the bin."),
        here=N_("{key} lists all conversations, also those in the bin."),
        action="history.show",
    ),
    "memory_not_found": ErrorText(
        N_("Memory not found"),
        next_step=N_("`atlas memory list --state all` lists all memories."),
        here=N_("{key} lists all memories."),
        action="memory.show",
    ),
    "change_not_found": ErrorText(
        N_("Change not found"),
        next_step=N_("`atlas memory changes` lists the changes."),
        here=N_("{key} shows the changes, in the tab “Timeline”."),
        action="memory.show",
    ),
    "nothing_to_answer": ErrorText(
        N_("No message to answer"),
        what=N_("Your latest message was forgotten, or there is none. No changes were made."),
        next_step=N_("Send a new message, or replace yours with /edit."),
    ),
    "cannot_undo": ErrorText(
        N_("This change cannot be undone"),
        what=N_(
            "It was already undone, or the memories were changed or forgotten since. No changes were made."
        ),
        next_step=N_("Edit the memory itself instead."),
    ),
    "summary_stale": ErrorText(
        N_("The conversation has changed"),
        what=N_("The messages behind a summary changed before it could be used. The summary was not sent."),
        next_step=N_("Send again."),
    ),
    "ambiguous_id": ErrorText(
        N_("The ID is ambiguous"),
        what=N_("{matches} IDs begin with {ref}."),
        next_step=N_("Enter more characters of the ID."),
    ),
    "message_too_long": ErrorText(
        N_("This message is too long for the model"),
        what=N_(
            "With the instructions and space for a reply, it needs {needed} tokens; "
            "the model reads at most {limit}. The message is saved in full."
        ),
        next_step=N_(
            "Send it in parts (`atlas ask --split`, or /split in a conversation), "
            "or choose a model with a longer context."
        ),
        here=N_("Send it in parts with /split, or choose a model with a longer context with {key}."),
        action="models.show",
    ),
    "instructions_too_long": ErrorText(
        N_("The instructions are too long for the model"),
        what=N_(
            "They leave too little space for messages: with yours and a reply, {needed} tokens are needed; "
            "the model reads at most {limit}. Your message is saved in full."
        ),
        next_step=N_(
            "Shorten the instructions (`atlas config set chat.system_prompt`, or /system in a conversation) "
            "or those of the project, or choose a model with a longer context."
        ),
        here=N_(
            "Shorten the instructions with /system, or those of the project, or choose a model with a longer "
            "context with {key}."
        ),
        action="models.show",
    ),
    "not_a_backup": ErrorText(
        N_("This file is not an Atlas backup"),
        what=N_("It cannot be restored: {detail}. No changes were made."),
        next_step=N_("Choose a file made by `atlas vault backup`."),
    ),
    "backup_damaged": ErrorText(
        N_("The backup is damaged"),
        what=N_("It was rejected: {detail}. No changes were made."),
        next_step=N_("Use another backup, or copy this one again from its source."),
    ),
    "future_backup": ErrorText(
        N_("This backup is from a newer Atlas"),
        what=N_("Its format is {found}; this version supports up to {known}. No changes were made."),
        next_step=N_("Install the newer version of Atlas to restore it."),
    ),
    "wrong_backup_passphrase": ErrorText(
        N_("The backup could not be opened"),
        what=N_(
            "The backup is intact, but it was made with a different passphrase or "
            "recovery key. No changes were made."
        ),
        next_step=N_(
            "Use the passphrase from when the backup was made, or its recovery key with --recovery-key."
        ),
    ),
    "output_refused": ErrorText(
        N_("The backup cannot be saved there"),
        what=N_("The system reports: {detail}. No backup was made; older ones are unchanged."),
        next_step=N_("Choose a folder you can write to, with --output or the setting backup.folder."),
        here=N_("Choose a folder that you can write to: {key}, section “Backups”."),
        action="settings.show",
    ),
    "nothing_to_salvage": ErrorText(
        N_("Nothing to salvage"),
        what=N_("Every page and reference in the room is intact. No changes were made."),
        next_step=N_("Continue to use it as before; `atlas vault verify` shows details."),
    ),
    "nothing_readable": ErrorText(
        N_("Nothing in the {room} room is readable"),
        what=N_(
            "{bad_pages} of its {pages} pages are damaged, and the others contain no "
            "messages, memories or projects. An empty room would not help, so no "
            "changes were made."
        ),
        next_step=N_(
            "Restore a backup: `atlas vault restore FILE`. Without one, keep a copy of "
            "the folder `rooms` and start over in another home folder (--home)."
        ),
    ),
    "exchange_unfinished": ErrorText(
        N_("Another Atlas is replacing the rooms"),
        what=N_("A restore, a key change or a salvage is running here. No changes were made."),
        next_step=N_("Wait until it finishes, then try again."),
    ),
    "attachment": ErrorText(
        N_("This file cannot be attached"),
        what=N_("{name}: {why} No changes were made."),
    ),
    "attachment_not_found": ErrorText(
        N_("Attachment not found"),
        next_step=N_("Use /attach to list attachments."),
    ),
    "document_not_found": ErrorText(
        N_("Document not found"),
        next_step=N_("`atlas docs list` lists all documents."),
        here=N_("{key} lists all documents."),
        action="documents.show",
    ),
    "document_empty": ErrorText(
        N_("This document has no text"),
        what=N_("There is nothing to summarise."),
        next_step=N_("`atlas docs show` says whether its file could be read."),
        here=N_("{key} shows whether its file could be read."),
        action="documents.show",
    ),
    "document_has_file": ErrorText(
        N_("This document comes from a file"),
        what=N_("Only documents made from conversations can be edited here. No changes were made."),
        next_step=N_("Edit the file, then run `atlas docs rescan`."),
        here=N_("Edit the file, then press {key} in Documents."),
        action="documents.rescan",
    ),
    "folder_not_found": ErrorText(
        N_("Folder not watched"),
        next_step=N_("`atlas docs status` lists the watched folders."),
        here=N_("{key} lists the watched folders."),
        action="documents.show",
    ),
    "nothing_to_write": ErrorText(
        N_("No document can be made from this conversation"),
        what=N_("It states no decision, fact or open question, and has no code."),
        next_step=N_("Continue it first, or export it with `atlas export`."),
        here=N_("Continue it first, or export it: {key}."),
        action="session.export",
    ),
    "note_not_found": ErrorText(
        N_("Note not found"),
        next_step=N_("`atlas notes list` lists all notes."),
        here=N_("{key} lists all notes."),
        action="notes.show",
    ),
    "note_title_taken": ErrorText(
        N_("Another note has this title"),
        what=N_(
            "There is already a note called “{title}”, so a link could mean either. No changes were made."
        ),
        next_step=N_("Choose another title, or add to that note."),
    ),
    "title_missing": ErrorText(
        N_("A title is needed"),
        what=N_("Links refer to a note by its title. No changes were made."),
        next_step=N_("Give it a title of one line."),
    ),
    "version_not_found": ErrorText(
        N_("There is no such version"),
        what=N_("There is no version {number}. No changes were made."),
        next_step=N_("`atlas notes versions` lists the versions that exist."),
        here=N_("{key} in Notes lists those that are."),
        action="notes.versions",
    ),
    "task_not_found": ErrorText(
        N_("Task not found"),
        next_step=N_("`atlas task list` lists all tasks."),
        here=N_("{key} lists all tasks."),
        action="tasks.show",
    ),
    "task_in_state": ErrorText(
        N_("This is not possible now"),
        what=N_("The state of the task is “{state}”. No changes were made."),
        next_step=N_("`atlas task show` shows its progress. `atlas task revise` reopens a finished task."),
        here=N_("{key} shows where it stands, and lets a finished one go on."),
        action="tasks.show",
    ),
    "brief_missing": ErrorText(
        N_("There is no brief"),
        what=N_("A task needs a brief that says what to do. No changes were made."),
        next_step=N_("Say what you want to know and about which subject."),
    ),
    "skill_not_found": ErrorText(
        N_("Skill not found"),
        next_step=N_("`atlas skills list` lists all skills."),
        here=N_("{key} lists all skills."),
        action="memory.show",
    ),
    "skill_invalid": ErrorText(
        N_("This cannot be a skill"),
        what=N_("{reason} No changes were made."),
        next_step=N_("Correct it and try again."),
    ),
    "skill_name_taken": ErrorText(
        N_("Another skill has this name"),
        what=N_("There is already a skill called “{name}”. No changes were made."),
        next_step=N_("Choose another name, or change that skill with `atlas skills edit`."),
        here=N_("Choose another name, or change that skill: {key}, tab “Skills”."),
        action="memory.show",
    ),
    "skill_has_no_draft": ErrorText(
        N_("Nothing to approve"),
        what=N_("No version of the skill “{name}” is waiting for approval. No changes were made."),
        next_step=N_("`atlas skills drafts` lists the drafts that are waiting."),
        here=N_("{key} lists what waits, in the tab “Skills”."),
        action="memory.show",
    ),
    "skill_version_not_found": ErrorText(
        N_("There is no such version"),
        what=N_("The skill has no approved version {number}. No changes were made."),
        next_step=N_("`atlas skills versions` lists those that are kept."),
        here=N_("{key} lists those that are kept, in the tab “Skills”."),
        action="memory.show",
    ),
    "not_synced": ErrorText(
        N_("This room is not synced"),
        what=N_("No folder has been chosen to sync with. No changes were made."),
        next_step=N_(
            "`atlas sync init FOLDER` starts sync in a folder; `atlas sync join FOLDER` joins "
            "devices that already sync there."
        ),
        here=N_("{key} sets it up, or joins other devices."),
        action="sync.show",
    ),
    "already_synced": ErrorText(
        N_("This room is synced already"),
        what=N_("A room can be synced through one folder only. No changes were made."),
        next_step=N_("`atlas sync status` shows the folder; `atlas sync leave` ends it."),
        here=N_("{key} shows the folder, and ends it."),
        action="sync.show",
    ),
    "sync_folder_missing": ErrorText(
        N_("The sync folder is missing"),
        what=N_("{path} does not exist at the moment, or is empty. Your changes are kept and sent later."),
        next_step=N_(
            "Plug in the drive or mount the folder, then sync again. If you have emptied the folder "
            "yourself, `atlas sync now` fills it again."
        ),
        here=N_(
            "Plug in the drive or mount the folder, then sync again. If you have emptied the folder "
            "yourself, sync now in the window of {key} to fill it again."
        ),
        action="sync.show",
    ),
    "sync_folder_unusable": ErrorText(
        N_("The sync folder cannot be used"),
        what=N_("{path}: {detail}. Nothing is lost; your changes are sent later."),
        next_step=N_("Check its permissions and free space, then sync again."),
    ),
    "sync_folder_in_home": ErrorText(
        N_("This folder cannot be used for sync"),
        what=N_("It is inside Atlas's home folder, or contains it. Your rooms must not be copied that way."),
        next_step=N_("Choose a folder outside the home folder that your copying tool synchronises."),
    ),
    "sync_code_mistyped": ErrorText(
        N_("The code was mistyped"),
        what=N_("Its check letters do not match. No changes were made."),
        next_step=N_("Compare it with the other screen, letter by letter, and try again."),
    ),
    "invitation_not_found": ErrorText(
        N_("No invitation for this code"),
        what=N_("The folder contains no invitation that this code opens. No changes were made."),
        next_step=N_(
            "Wait until the folder is copied completely. A code is valid for an hour, and only the newest: "
            "`atlas sync invite` on the other device makes one."
        ),
        here=N_(
            "Wait until the folder is copied completely. A code is valid for an hour, and only the newest: "
            "{key} on the other device makes one."
        ),
        action="sync.show",
    ),
    "invitation_expired": ErrorText(
        N_("The code has expired"),
        what=N_("A code is valid for an hour. No changes were made."),
        next_step=N_("`atlas sync invite` on the other device makes a new one. Check both clocks, too."),
        here=N_("{key} on the other device makes a new one. Check both clocks, too."),
        action="sync.show",
    ),
    "invitation_without_private": ErrorText(
        N_("The private room is not in this invitation"),
        what=N_(
            "The other device does not sync its private room, or it was closed when the code was made. No "
            "changes were made."
        ),
        next_step=N_(
            "Join without the private room, or open it on the other device, sync it there (v in /sync, or "
            "`atlas sync init FOLDER --include-private`), and make a new code."
        ),
        here=N_("Join without the private room, or let the other device sync it first."),
    ),
    "sync_device_not_found": ErrorText(
        N_("Device not found"),
        what=N_("No other device known here is called “{ref}”. No changes were made."),
        next_step=N_("`atlas sync now` looks for new devices, `atlas sync devices` lists them."),
        here=N_("{key} lists all devices, and can look for new ones."),
        action="sync.show",
    ),
    "sync_device_is_own": ErrorText(
        N_("This is the device you are using"),
        what=N_("A device can only be removed by another device. No changes were made."),
        next_step=N_("`atlas sync leave` ends sync on this device."),
        here=N_("In the window of sync ({key}), l ends sync on this device."),
        action="sync.show",
    ),
    "sync_device_removed": ErrorText(
        N_("This device was removed"),
        what=N_(
            "Another device has changed the keys to remove this one, or before it knew this one. "
            "Everything on this device stays."
        ),
        next_step=N_("`atlas sync leave` ends sync here; with a new code you can join again."),
        here=N_("{key} ends sync here; with a new code you can join again."),
        action="sync.show",
    ),
    "sync_paused": ErrorText(
        N_("Sync is paused"),
        what=N_("What you change meanwhile is kept and sent later."),
        next_step=N_("`atlas sync resume` continues it; `atlas sync now` syncs once."),
        here=N_("{key} continues it."),
        action="sync.show",
    ),
    "persona_not_found": ErrorText(
        N_("Persona not found"),
        next_step=N_("`atlas personas list` lists all personas."),
        here=N_("{key} lists all personas."),
        action="tools.persona",
    ),
    "template_not_found": ErrorText(
        N_("Template not found"),
        next_step=N_("`atlas templates list` lists all templates."),
        here=N_("{key} lists all templates."),
        action="tools.use_template",
    ),
    "client_not_found": ErrorText(
        N_("Client not found"),
        next_step=N_("`atlas clients list` lists all clients."),
        here=N_("{key} lists all clients."),
        action="doors.clients",
    ),
    "name_taken": ErrorText(
        N_("This name is taken"),
        what=N_("“{name}” already exists. No changes were made."),
        next_step=N_("Choose another name, or edit that one."),
    ),
    "target_exists": ErrorText(
        N_("The target already exists"),
        what=N_("{path} exists. It is unchanged, and nothing was written."),
        next_step=N_("Choose another name, or use --force to replace it."),
        here=N_("Choose another name."),
    ),
    "target_refused": ErrorText(
        N_("The export cannot be saved"),
        what=N_("{path} cannot be created: {reason}. Nothing was written."),
        next_step=N_("Choose another place, or check its permissions and free space."),
    ),
    "bad_recipient": ErrorText(
        N_("Invalid age recipient"),
        what=N_(
            "A recipient starts with `age1`, or is an SSH public key (ssh-ed25519 or "
            "ssh-rsa). Nothing was written."
        ),
        next_step=N_("`age-keygen` creates a key and shows its recipient."),
    ),
    "nothing_to_export": ErrorText(
        N_("Nothing to export"),
        what=N_("No conversations match your selection. Nothing was written."),
        next_step=N_(
            "`atlas sessions list` lists conversations; those in the private room need --include-private."
        ),
        here=N_("{key} lists all conversations; open the private room first to export from it."),
        action="history.show",
    ),
    "unknown_export": ErrorText(
        N_("No conversations found"),
        what=N_("{reasons} No changes were made."),
        next_step=N_(
            "Export it again from its source, or name the format with `atlas import "
            "--format` to read the intact parts."
        ),
        here=N_(
            "Export it again from its program, or use Markdown or JSON lines, and leave the file as it is."
        ),
    ),
    "model_crashed": ErrorText(
        N_("The model process stopped"),
        what=N_("The model process ended unexpectedly{how}. Your message and the partial reply are saved."),
        next_step=N_(
            "Send again: the model restarts automatically. If this keeps happening, try a smaller model."
        ),
    ),
    "model_file_missing": ErrorText(
        N_("The model file is missing"),
        what=N_("{file} cannot be found, or is not a file{detail}."),
        next_step=N_("Check the path; `atlas models list` shows what is installed."),
        here=N_("Check the path; {key} shows what is installed."),
        action="models.show",
    ),
    "not_gguf": ErrorText(
        N_("This is not a GGUF model"),
        what=N_("{file} does not begin with a GGUF header{detail}."),
        next_step=N_("Atlas runs models in the GGUF format; look for a .gguf download of the model."),
    ),
    "damaged_gguf": ErrorText(
        N_("The model file is damaged"),
        what=N_("The header of {file} is inconsistent{detail}."),
        next_step=N_("Download it again."),
    ),
    "truncated_gguf": ErrorText(
        N_("The model file is incomplete"),
        what=N_("{file} ends too early{detail}."),
        next_step=N_("The download was incomplete. Download it again."),
    ),
    "wrong_checksum": ErrorText(
        N_("The model file has the wrong checksum"),
        what=N_("The checksum of {file} does not match its source, so it was not used{detail}."),
        next_step=N_("Download it again. If it happens again, the source has changed."),
    ),
    "unknown_architecture": ErrorText(
        N_("This type of model is not supported"),
        what=N_("{file} has an architecture that the built-in llama.cpp does not support{detail}."),
        next_step=N_("Update Atlas, or choose a model from `atlas models list --all`."),
        here=N_("Update Atlas, or choose another model: {key}."),
        action="models.show",
    ),
    "model_load_failed": ErrorText(
        N_("The model could not be loaded"),
        what=N_("llama.cpp rejected {file}{detail}."),
        next_step=N_("Check the file with `atlas models verify`. If it is intact, try another model."),
        here=N_("{key} checks the file. If it is intact, try another model."),
        action="models.show",
    ),
    "not_enough_memory": ErrorText(
        N_("The model is too large for this computer's memory"),
        what=N_("It needs about {needed}; {available} is available."),
        next_step=N_("Choose a smaller model: `atlas models recommend` shows what fits."),
        here=N_("Choose a smaller model: {key} shows what fits."),
        action="models.show",
    ),
    "disk_space": ErrorText(
        N_("Not enough disk space"),
        what=N_("It needs {needed}; {free} is free. Nothing was written."),
        next_step=N_("Free some space, or choose a smaller model."),
    ),
    "unknown_model": ErrorText(
        N_("Model not found"),
        what=N_("No model called {ref} is installed or in the catalogue."),
        next_step=N_(
            "`atlas models list --all` shows the catalogue; `atlas models import FILE` adds your own file."
        ),
        here=N_("{key} shows the catalogue, and adds your own file."),
        action="models.show",
    ),
    "model_not_installed": ErrorText(
        N_("Model not installed"),
        what=N_("{ref} is in the catalogue, but its file is not on this computer."),
        next_step=N_("`atlas models pull {ref}` downloads it."),
        here=N_("{key} downloads it."),
        action="models.show",
    ),
    "no_model": ErrorText(
        N_("No model installed"),
        next_step=N_(
            "`atlas models recommend` shows what fits this computer; `atlas models pull ID` downloads it."
        ),
        here=N_("{key} shows what fits this computer, and downloads it."),
        action="models.show",
    ),
    "model_damaged": ErrorText(
        N_("The model file is damaged"),
        next_step=N_(
            "`atlas models pull {ref}` downloads it again. If it came from your own "
            "file, `atlas models import FILE --name {ref}` imports it again."
        ),
        here=N_("{key} downloads or imports it again."),
        action="models.show",
    ),
    "model_exists": ErrorText(
        N_("A model with this name already exists"),
        what=N_("{ref} is installed with different content."),
        next_step=N_("Give the new one another name with --name, or remove the old one first."),
        here=N_("Give the file another name, or remove the old model first: {key}."),
        action="models.show",
    ),
    "download_failed": ErrorText(
        N_("The download did not finish"),
        what=N_("{source}: {detail}. Partial data is kept."),
        next_step=N_("Try again: it resumes where it stopped."),
    ),
    "model_unresponsive": ErrorText(
        N_("The model does not respond"),
        what=N_("Its process did not respond in time and was stopped. Your message is saved."),
        next_step=N_("Send again. A smaller model loads faster. models.load_timeout_s sets the limit."),
    ),
    "prompt_too_long": ErrorText(
        N_("The conversation is too long for the model"),
        what=N_("The prompt has {tokens} tokens; the limit is {limit}. Your message is saved."),
        next_step=N_("Start a new conversation, or choose a model with a longer context."),
        here=N_("Start a new conversation, or choose a model with a longer context with {key}."),
        action="models.show",
    ),
    "template_failed": ErrorText(
        N_("The model's chat template cannot be used"),
        what=N_("The template inside the model file rejects this conversation or takes too long."),
        next_step=N_("Choose another model; this one was not made for chat."),
    ),
    "bad_grammar": ErrorText(
        N_("The answer format could not be set"),
        what=N_("This build of llama.cpp cannot read the grammar for this answer."),
        next_step=N_("Run `atlas doctor`. Your message is saved."),
    ),
    "model_fault": ErrorText(
        N_("The model reported an error"),
        what=N_("The model process had an error ({detail}). Your message and the partial reply are saved."),
        next_step=N_("Send again. If it keeps happening, try another model."),
    ),
    "unknown_engine": ErrorText(
        N_("Engine not found"),
        what=N_("No engine called {engine} is in the settings."),
        next_step=N_("`atlas engines list` shows the engines; `atlas engines add NAME --url URL` adds one."),
        here=N_("{key} lists and adds engines, under “Engines”."),
        action="models.show",
    ),
    "bad_engine": ErrorText(
        N_("This engine cannot be used"), next_step=N_("No changes were made. Try again.")
    ),
    "engine_unreachable": ErrorText(
        N_("The engine {engine} does not answer"),
        what=N_("Nothing answers at {host}. What you wrote is saved."),
        next_step=N_(
            "Start the server, or choose another model. `atlas engines probe {engine}` tests the connection."
        ),
        here=N_("Start the server, or choose another model. {key} tests the connection, under “Engines”."),
        action="models.show",
    ),
    "engine_silent": ErrorText(
        N_("The engine {engine} takes too long"),
        what=N_("It sent nothing for {seconds} s. Your message and the partial reply are saved."),
        next_step=N_("Try again. `timeout_s` in [engines.{engine}] of config.toml sets the limit."),
    ),
    "engine_cut_off": ErrorText(
        N_("The engine {engine} cut the connection"),
        what=N_(
            "The connection ended in the middle of an answer. Your message and the partial reply are saved."
        ),
        next_step=N_("Send again. If it happens again, look at the server's own output."),
    ),
    "engine_bad_answer": ErrorText(
        N_("The engine {engine} sent something unusable"),
        next_step=N_(
            "Check the address with `atlas engines probe {engine}`: is it an OpenAI-compatible server?"
        ),
        here=N_("Is it an OpenAI-compatible server? {key} tests the address, under “Engines”."),
        action="models.show",
    ),
    "engine_failed": ErrorText(
        N_("The engine {engine} reported an error"),
        what=N_("It answered with status {status}{detail}. Your message and the partial reply are saved."),
        next_step=N_("Look at the server's own output, or choose another model with /model."),
    ),
    "engine_busy": ErrorText(
        N_("The engine {engine} is busy"),
        what=N_("It is still loading its model, or has too many requests{detail}. Your message is saved."),
        next_step=N_("Wait a moment and send again."),
    ),
    "engine_key_refused": ErrorText(
        N_("The engine {engine} needs a valid key"),
        what=N_("It refused the request, or its key cannot be read now. What you wrote is saved."),
        next_step=N_("`atlas engines add {engine} --url URL --key-file FILE` stores a key."),
        here=N_("Add it again with its key: {key}, under “Engines”."),
        action="models.show",
    ),
    "engine_model_unknown": ErrorText(
        N_("The engine {engine} does not have this model"),
        what=N_("It does not list {model}."),
        next_step=N_("`atlas engines probe {engine}` lists its models."),
        here=N_("{key} lists its models, under “Engines”."),
        action="models.show",
    ),
    "engine_not_allowed": ErrorText(
        N_("The engine {engine} is not on this computer"),
        what=N_("What you write would be sent to {host}, and you have not agreed to that."),
        next_step=N_("To agree, add it again: `atlas engines add {engine} --url URL`."),
        here=N_("To agree, add it again: {key}, under “Engines”."),
        action="models.show",
    ),
    "engine_not_local": ErrorText(
        N_("The private room stays on this computer"),
        what=N_(
            "The engine {engine} is on another computer, so this room does not use it. Nothing was sent."
        ),
        next_step=N_("Choose a model on this computer with /model."),
    ),
    "state_not_held": ErrorText(
        N_("The model state is gone"),
        what=N_("It no longer holds this conversation in its memory."),
        next_step=N_("Nothing is lost: the model reads the conversation again."),
    ),
    "state_refused": ErrorText(
        N_("A saved model state was not used"),
        what=N_("It does not match the model as it runs now ({detail})."),
        next_step=N_("Nothing is lost: the model reads the conversation again."),
    ),
    "model_protocol": ErrorText(
        N_("Communication with the model failed"),
        what=N_(
            "Data exchanged with its process could not be read, so it was stopped. Your message is saved."
        ),
        next_step=N_("Send again. If it keeps happening, reinstall Atlas."),
    ),
    "project_not_found": ErrorText(
        N_("Project not found"),
        what=N_("No project has this name or ID. No changes were made."),
        next_step=N_("`atlas project list` lists all projects."),
        here=N_("{key} lists all projects."),
        action="project.choose",
    ),
    "project_exists": ErrorText(
        N_("A project with this name already exists"),
        what=N_("Names are not case-sensitive. No changes were made."),
        next_step=N_("Choose another name; `atlas project list` lists all projects."),
        here=N_("Choose another name; {key} lists all projects."),
        action="project.choose",
    ),
    "cannot_merge": ErrorText(
        N_("These conversations cannot be merged"),
        what=N_("{why} No changes were made."),
        next_step=N_("`atlas sessions list --json` shows the room, memory mode and ID of each."),
        here=N_("{key} shows the room and the memory mode of each."),
        action="history.show",
    ),
    "bad_query": ErrorText(
        N_("Invalid search"),
        what=N_("{detail}."),
        next_step=N_("Search for one or more words; put a phrase in double quotes."),
    ),
    "saved_search_not_found": ErrorText(
        N_("Saved search not found"),
        what=N_("No saved search is called {ref}."),
        next_step=N_(
            "`atlas sessions searches` lists the names; `atlas sessions searches add NAME QUERY` saves one."
        ),
        here=N_("{key} in History lists and saves searches."),
        action="history.save",
    ),
}
