package import AudioQueue
import CAudioToolbox
import Logging

extension QueueError: PropertyFailure {
  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> QueueError {
    .invalidPropertySize
  }

  package var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .cannotStart(let error): "\(error)"
    case .invalidDevice(let name): "there is no device “\(name)”, or it does not answer"
    case .invalidParameter: "the queue has no such parameter, or EnableTimePitch is off"
    case .invalidPropertyValue:
      "the property does not take this value, or what it needs is switched off"
    default:
      status == kAudio_ParamError
        ? "\(self)" : textsOfQueueError(status)?.meaning ?? "\(self)"
    }
  }

  var level: Logger.Level { .debug }

  /// The documented result code.
  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .invalidBuffer: kAudioQueueErr_InvalidBuffer
    case .bufferEmpty: kAudioQueueErr_BufferEmpty
    case .bufferOverfull: kAudio_ParamError
    case .bufferInQueue: kAudioQueueErr_BufferInQueue
    case .enqueuedTwice: kAudioQueueErr_BufferEnqueuedTwice
    case .enqueueDuringReset: kAudioQueueErr_EnqueueDuringReset
    case .disposalPending: kAudioQueueErr_DisposalPending
    case .disposed: kAudio_ParamError
    case .invalidRunState: kAudioQueueErr_InvalidRunState
    case .invalidOfflineMode: kAudioQueueErr_InvalidOfflineMode
    case .invalidDevice: kAudioQueueErr_InvalidDevice
    case .cannotStart: kAudioQueueErr_CannotStart
    case .invalidated: kAudioQueueErr_QueueInvalidated
    case .primeTimedOut: kAudioQueueErr_PrimeTimedOut
    case .outOfMemory: kAudio_MemFullError
    case .packetOutsideBuffer, .packetsNotDescribed, .trimmedTooMuch, .startsOutOfOrder,
      .startOutOfRange,
      .invalidTimeline, .noTime,
      .bufferTooSmall, .wrongBuffers:
      kAudio_ParamError
    case .wrongQueueType: kAudioQueueErr_InvalidQueueType
    case .recordUnderrun: kAudioQueueErr_RecordUnderrun
    case .invalidParameter: kAudioQueueErr_InvalidParameter
    case .invalidProperty: kAudioQueueErr_InvalidProperty
    case .invalidPropertySize: kAudioQueueErr_InvalidPropertySize
    case .invalidPropertyValue: kAudioQueueErr_InvalidPropertyValue
    case .readOnly: kAudioQueueErr_Permissions
    case .unsupportedFormat: kAudioFormatUnsupportedDataFormatError
    case .codecNotFound: kAudioQueueErr_CodecNotFound
    case .invalidCodecAccess: kAudioQueueErr_InvalidCodecAccess
    case .tooManyTaps: kAudioQueueErr_TooManyTaps
    case .notInTap: kAudioQueueErr_InvalidTapContext
    case .wrongTap: kAudioQueueErr_InvalidTapType
    }
  }
}

extension ConverterFailure {
  /// The result code for kAudioQueueProperty_ConverterError.
  var status: OSStatus {
    switch self {
    case .decoding, .encoding, .resampling, .noTimePitch: kAudioQueueErr_InvalidCodecAccess
    case .tapGaveTooMuch, .tapGaveTooLittle: kAudio_ParamError
    }
  }
}
