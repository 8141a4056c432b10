// The module that files for Apple's systems import as AVFoundation: the sound classes, and who may record.

@_exported public import AVFAudio
