// Classes of Apple's AVFAudio over the modules below: formats, buffers, times, files and converters.

@_exported public import AudioToolbox
@_exported public import Dispatch
@_exported public import Foundation
