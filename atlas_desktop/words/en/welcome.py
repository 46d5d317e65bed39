"""The first screen of all."""

TEXTS = {
    "greeting": "Welcome. Choose a passphrase to begin.",
    "passphrase": "Passphrase",
    "again": "Once more",
    "making": "Making the keys…",
    "placeholder": "Four or five words only you connect",
    "keyring": "Also unlock with the system keyring",
    "needed": "A passphrase is needed.",
    "create": "Create the vault",
    "differ": "The two differ. Type the second one again.",
    "where": "Everything is kept, encrypted, in ",
    "claim": "Protects your saved conversations if someone copies your files or takes your locked "
    "or powered-off computer. Does not protect against software running as you while "
    "Atlas is unlocked, swap or hibernation, or a weak passphrase. If you lose your "
    "passphrase, keyring and recovery key, nobody can recover your data.",
    "strength.0": "very weak",
    "strength.1": "weak",
    "strength.2": "fair",
    "strength.3": "good",
    "strength.4": "strong",
    "keyring_of": "Also unlock with the system keyring ({name})",
    "guessed": "guessed in {time}",
    "keyring_refused": "{title}. {message} Your passphrase unlocks Atlas.",
}
