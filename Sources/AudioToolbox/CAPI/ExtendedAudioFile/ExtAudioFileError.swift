package import CAudioToolbox
package import Files

/// The reason why an ExtAudioFile call fails. The text goes to the log, the code to the caller.
package enum ExtAudioFileError: PropertyFailure {
  case badArgument(String)
  case noFile
  case invalidProperty(ExtAudioFilePropertyID)
  case propertySize(ExtAudioFilePropertyID, Int)
  case clientNotPCM
  case channels(String)
  case order(String)
  case format(String)
  case packetSizeUnknown
  case seek(Int64)
  case asyncTooLarge(frames: Int, most: Int)
  case asyncOverflow(frames: Int)
  /// An asynchronous write failed; the status says why.
  case asyncFailure(OSStatus)
  case audioFile(AudioFileFailure)
  case converter(AudioConverterError)

  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> ExtAudioFileError {
    .propertySize(id, size)
  }

  package init(_ error: MediaError) {
    switch error {
    case .file(let error): self = .audioFile(.file(error))
    case .conversion(let error): self = .converter(AudioConverterError(error))
    }
  }

  package var status: OSStatus {
    switch self {
    case .badArgument, .noFile: kAudio_ParamError
    case .invalidProperty: kExtAudioFileError_InvalidProperty
    case .propertySize: kExtAudioFileError_InvalidPropertySize
    case .clientNotPCM: kExtAudioFileError_NonPCMClientFormat
    case .channels: kExtAudioFileError_InvalidChannelMap
    case .order: kExtAudioFileError_InvalidOperationOrder
    case .format: kExtAudioFileError_InvalidDataFormat
    case .packetSizeUnknown: kExtAudioFileError_MaxPacketSizeUnknown
    case .seek: kExtAudioFileError_InvalidSeek
    case .asyncTooLarge: kExtAudioFileError_AsyncWriteTooLarge
    case .asyncOverflow: kExtAudioFileError_AsyncWriteBufferOverflow
    case .asyncFailure(let status): status
    case .audioFile(let error): error.status
    case .converter(let error): error.status
    }
  }

  package var reason: String {
    switch self {
    case .badArgument(let text), .channels(let text), .order(let text), .format(let text): text
    case .noFile: "there is no such file open"
    case .invalidProperty(let id): "there is no property '\(fourCharacters(id))' to get or set"
    case .propertySize(let id, let size):
      "\(size) bytes are no value of the property '\(fourCharacters(id))'"
    case .clientNotPCM: "the client's format must be linear PCM"
    case .packetSizeUnknown: "the file does not say how long a packet may be"
    case .seek(let frame): "there is no frame \(frame) to read"
    case .asyncTooLarge(let frames, let most): "\(frames) frames are more than \(most)"
    case .asyncOverflow(let frames): "the disk cannot keep up: \(frames) frames are lost"
    case .asyncFailure(let status): "writing on another thread failed before: \(status)"
    case .audioFile(let error): error.reason
    case .converter(let error): error.reason
    }
  }
}
