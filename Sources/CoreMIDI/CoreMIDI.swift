// The module that files for Apple's systems import as CoreMIDI. It has all names of AudioToolbox, and no code.
@_exported public import AudioToolbox
