package import CAudioToolbox
package import Codecs
import Logging

/// The reason why a converter call fails. The text goes to the log, the code to the caller.
package enum AudioConverterError: PropertyFailure {
  case badArgument(String)
  case noConverter
  case formatNotSupported(String)
  case inputRate(Double)
  case outputRate(Double)
  case notImmediate
  case inputSize(String)
  case outputSize(String)
  case unsupportedProperty(AudioConverterPropertyID)
  case readOnly(AudioConverterPropertyID)
  case propertySize(AudioConverterPropertyID, Int)
  case propertyValue(AudioConverterPropertyID, String)
  case noDescriptions
  case badPacket(String)
  /// The status that the app's input callback returned.
  case input(OSStatus)
  case system(String)

  static func wrongSize(_ id: UInt32, needed: Int, size: Int) -> AudioConverterError {
    .propertySize(id, size)
  }

  package init(_ failure: StreamConverter.Failure) {
    switch failure {
    case .unsupported(let reason): self = .formatNotSupported(reason)
    case .inputRate(let rate): self = .inputRate(rate)
    case .outputRate(let rate): self = .outputRate(rate)
    case .channels: self = .formatNotSupported("the channels do not fit")
    case .packetTooLarge(let bytes): self = .outputSize("the next packet has \(bytes) bytes")
    case .resampling(let reason): self = .system(reason)
    case .codec(let error):
      switch error.kind {
      case .badPacket: self = .badPacket(error.reason)
      case .failed: self = .system(error.reason)
      case .noEncoder, .noDecoder, .badFormat, .badCookie: self = .formatNotSupported(error.reason)
      }
    }
  }

  package var status: OSStatus {
    switch self {
    case .badArgument, .noConverter, .propertyValue: kAudio_ParamError
    case .formatNotSupported: kAudioConverterErr_FormatNotSupported
    case .inputRate: kAudioConverterErr_InputSampleRateOutOfRange
    case .outputRate: kAudioConverterErr_OutputSampleRateOutOfRange
    case .notImmediate: kAudioConverterErr_OperationNotSupported
    case .inputSize: kAudioConverterErr_InvalidInputSize
    case .outputSize: kAudioConverterErr_InvalidOutputSize
    case .unsupportedProperty, .readOnly: kAudioConverterErr_PropertyNotSupported
    case .propertySize: kAudioConverterErr_BadPropertySizeError
    case .noDescriptions: kAudioConverterErr_RequiresPacketDescriptionsError
    case .badPacket: kAudioCodecBadDataError
    case .input(let status): status
    case .system: kAudioConverterErr_UnspecifiedError
    }
  }

  package var reason: String {
    switch self {
    case .badArgument(let text), .formatNotSupported(let text), .inputSize(let text),
      .outputSize(let text), .system(let text), .badPacket(let text):
      text
    case .noConverter: "there is no such converter"
    case .inputRate(let rate): "an input of \(rate) Hz cannot be converted"
    case .outputRate(let rate): "an output of \(rate) Hz cannot be had from that input"
    case .notImmediate:
      "this is for linear PCM of one rate only: call AudioConverterFillComplexBuffer"
    case .unsupportedProperty(let id): "the converter has no property '\(fourCharacters(id))'"
    case .readOnly(let id): "the property '\(fourCharacters(id))' cannot be set"
    case .propertySize(let id, let size):
      "the property '\(fourCharacters(id))' does not have \(size) bytes"
    case .propertyValue(let id, let text): "the property '\(fourCharacters(id))': \(text)"
    case .noDescriptions: "packets that vary in size need descriptions"
    case .input(let status): "the callback for the input gave \(status)"
    }
  }

  /// Programs ask for properties that may not exist, and status codes of their own callback are
  /// theirs to report.
  var level: Logger.Level {
    switch self {
    case .unsupportedProperty, .input: .debug
    default: .warning
    }
  }
}
