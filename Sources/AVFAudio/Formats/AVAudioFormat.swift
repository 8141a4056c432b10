public import AudioToolbox
import Codecs
public import Foundation
import RealTime
import Synchronization

/// A format of sound: linear PCM, or packets of a codec. The standard format is `Float`, with a buffer for each
/// channel.
@safe
open class AVAudioFormat: NSObject, NSSecureCoding, @unchecked Sendable {
  /// Nil for the format of what is not there, with 0 Hz and 0 channels.
  package let format: ConverterFormat?
  /// The format as a C structure. It stays valid.
  public let streamDescription: UnsafePointer<AudioStreamBasicDescription>
  /// The roles of the channels; nil if they are not known.
  public let channelLayout: AVAudioChannelLayout?
  private let cookie: Mutex<Data?>

  private init(
    _ format: ConverterFormat?, isInterleaved: Bool, _ layout: AVAudioChannelLayout?,
    cookie: Data?
  ) {
    self.format = format
    var description = format?.streamDescription ?? AudioStreamBasicDescription()
    if case .pcm = format?.stream, !isInterleaved {
      description.mFormatFlags |= kAudioFormatFlagIsNonInterleaved
    }
    let bytes = unsafe withUnsafeBytes(of: &description) { unsafe [UInt8]($0) }
    unsafe streamDescription = LastingBytes.address(of: bytes)
      .assumingMemoryBound(to: AudioStreamBasicDescription.self)
    channelLayout = layout
    self.cookie = Mutex(cookie)
  }

  /// The format of what is not there: 0 Hz and 0 channels.
  package static let absent = AVAudioFormat(nil, isInterleaved: false, nil, cookie: nil)

  /// Creates a format; nil if the description is none that Cuejack plays, or the layout has another number of
  /// channels.
  ///
  /// - Parameter layout: Must be there for more than two channels.
  package convenience init?(
    _ description: AudioStreamBasicDescription, _ layout: AVAudioChannelLayout?,
    cookie: Data? = nil
  ) {
    guard let format = ConverterFormat(description), format.stream.sampleRate >= 1,
      case let channels = format.stream.channels, channels > 0,
      layout.map({ $0.value.channels == channels }) ?? (channels <= 2)
    else { return nil }
    self.init(
      format,
      isInterleaved: description.mFormatFlags & kAudioFormatFlagIsNonInterleaved == 0, layout,
      cookie: cookie)
  }

  /// Creates linear PCM; nil for `otherFormat`, or if the values do not fit.
  ///
  /// - Parameter layout: Must be there for more than two channels.
  package convenience init?(
    _ format: AVAudioCommonFormat, sampleRate: Double, channels: AVAudioChannelCount,
    isInterleaved: Bool, _ layout: AVAudioChannelLayout?
  ) {
    guard let description = Self.description(format, sampleRate, channels, isInterleaved) else {
      return nil
    }
    self.init(description, layout)
  }

  // MARK: Apple's initialisers

  /// Creates the standard format; nil above two channels, or for a rate that cannot be.
  public convenience init?(
    standardFormatWithSampleRate sampleRate: Double, channels: AVAudioChannelCount
  ) {
    self.init(
      commonFormat: .pcmFormatFloat32, sampleRate: sampleRate, channels: channels,
      interleaved: false)
  }

  /// Creates the standard format. Ends the program for a rate or a number of channels that cannot be.
  public convenience init(
    standardFormatWithSampleRate sampleRate: Double, channelLayout layout: AVAudioChannelLayout
  ) {
    self.init(
      commonFormat: .pcmFormatFloat32, sampleRate: sampleRate, interleaved: false,
      channelLayout: layout)
  }

  /// Creates linear PCM; nil above two channels, for `otherFormat`, or for a rate that cannot be.
  public convenience init?(
    commonFormat format: AVAudioCommonFormat, sampleRate: Double, channels: AVAudioChannelCount,
    interleaved: Bool
  ) {
    self.init(
      format, sampleRate: sampleRate, channels: channels, isInterleaved: interleaved, nil)
  }

  /// Creates linear PCM. Ends the program for `otherFormat`, or a rate or a number of channels that cannot be.
  public convenience init(
    commonFormat format: AVAudioCommonFormat, sampleRate: Double, interleaved: Bool,
    channelLayout layout: AVAudioChannelLayout
  ) {
    guard
      let description = Self.description(format, sampleRate, layout.channelCount, interleaved),
      let converted = ConverterFormat(description)
    else {
      refuse(
        "AVAudioFormat: there is no linear PCM of \(format) with \(sampleRate) Hz and \(layout.channelCount) channels"
      )
    }
    self.init(converted, isInterleaved: interleaved, layout, cookie: nil)
  }

  /// Creates a format; nil above two channels, or for a description that is none Cuejack plays.
  public convenience init?(
    streamDescription asbd: UnsafePointer<AudioStreamBasicDescription>
  ) {
    unsafe self.init(asbd.pointee, nil)
  }

  /// Creates a format; nil for a description that is none Cuejack plays, or with another number of channels than
  /// the layout's.
  public convenience init?(
    streamDescription asbd: UnsafePointer<AudioStreamBasicDescription>,
    channelLayout layout: AVAudioChannelLayout?
  ) {
    unsafe self.init(asbd.pointee, layout)
  }

  /// Creates a format from a dictionary of settings keys. Keys of encoders are ignored. Nil if values are of wrong
  /// types or missing, or above two channels without `AVChannelLayoutKey`.
  public convenience init?(settings: [String: Any]) {
    let settings = AudioSettings(settings)
    do {
      self.init(try settings.streamDescription(isInFile: false), try settings.layout)
    } catch {
      return nil
    }
  }

  private static func description(
    _ format: AVAudioCommonFormat, _ rate: Double, _ channels: UInt32, _ isInterleaved: Bool
  ) -> AudioStreamBasicDescription? {
    let (bits, isFloat): (UInt32, Bool)
    switch format {
    case .otherFormat: return nil
    case .pcmFormatFloat32: (bits, isFloat) = (32, true)
    case .pcmFormatFloat64: (bits, isFloat) = (64, true)
    case .pcmFormatInt16: (bits, isFloat) = (16, false)
    case .pcmFormatInt32: (bits, isFloat) = (32, false)
    }
    return AudioStreamBasicDescription(
      pcmRate: rate, channels: channels, bits: bits, isFloat: isFloat, isInterleaved: isInterleaved)
  }

  // MARK: Values

  /// Frames per second.
  public var sampleRate: Double { unsafe streamDescription.pointee.mSampleRate }
  /// The number of channels.
  public var channelCount: AVAudioChannelCount {
    unsafe streamDescription.pointee.mChannelsPerFrame
  }
  /// False for linear PCM with a buffer for each channel.
  public var isInterleaved: Bool {
    unsafe streamDescription.pointee.mFormatFlags & kAudioFormatFlagIsNonInterleaved == 0
  }
  /// True for `Float` with a buffer for each channel.
  public var isStandard: Bool {
    commonFormat == .pcmFormatFloat32 && (!isInterleaved || channelCount == 1)
  }

  /// The kind of samples; `otherFormat` for packets and for what is none of the four.
  public var commonFormat: AVAudioCommonFormat {
    guard let format, case .pcm(let pcm) = format.stream, format.fractionBits == 0,
      !pcm.isBigEndian, pcm.bitsPerSample == 8 * pcm.bytesPerSample
    else { return .otherFormat }
    switch (pcm.kind, pcm.bitsPerSample) {
    case (.float, 32): return .pcmFormatFloat32
    case (.float, 64): return .pcmFormatFloat64
    case (.signedInteger, 16): return .pcmFormatInt16
    case (.signedInteger, 32): return .pcmFormatInt32
    default: return .otherFormat
    }
  }

  /// The codec's magic cookie; nil if there is none. Any thread.
  public var magicCookie: Data? {
    get { cookie.withLock { $0 } }
    set { cookie.withLock { $0 = newValue } }
  }

  /// The format as settings keys. The numbers are of the class `NSNumber`.
  public var settings: [String: Any] {
    var settings: [String: Any] = unsafe [
      AVFormatIDKey: NSNumber(value: streamDescription.pointee.mFormatID),
      AVSampleRateKey: NSNumber(value: sampleRate),
      AVNumberOfChannelsKey: NSNumber(value: channelCount),
    ]
    if let channelLayout { settings[AVChannelLayoutKey] = Data(channelLayout.value.bytes) }
    switch format?.stream {
    case .pcm(let pcm):
      settings[AVLinearPCMBitDepthKey] = NSNumber(value: pcm.bitsPerSample)
      settings[AVLinearPCMIsFloatKey] = NSNumber(value: pcm.kind == .float)
      settings[AVLinearPCMIsBigEndianKey] = NSNumber(value: pcm.isBigEndian)
      settings[AVLinearPCMIsNonInterleaved] = NSNumber(value: !isInterleaved)
    case .packets(let packets) where packets.bitsPerSample > 0:
      settings[AVEncoderBitDepthHintKey] = NSNumber(value: packets.bitsPerSample)
    default: break
    }
    return settings
  }

  // MARK: Equality

  /// The layout, unless it says no more than the number of channels.
  var tellingLayout: ChannelLayout? { channelLayout?.value.telling }

  /// Returns true for a format with the same samples. One channel is the same interleaved or not; a layout of mono
  /// or stereo is the same as none.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AVAudioFormat else { return false }
    return format == other.format && tellingLayout == other.tellingLayout
  }

  /// A hash that equal formats share.
  open override var hash: Int {
    unsafe [
      UInt64(channelCount), UInt64(streamDescription.pointee.mFormatID), sampleRate.bitPattern,
    ]
    .hashValue
  }

  /// Channels, rate and kind of samples.
  open override var description: String {
    let kind =
      switch format?.stream {
      case .pcm(let pcm):
        "\(pcm.isBigEndian ? "big-endian " : "")"
          + (pcm.kind == .float ? "Float" : pcm.kind == .signedInteger ? "Int" : "UInt")
          + "\(pcm.bitsPerSample), \(isInterleaved ? "interleaved" : "deinterleaved")"
      case .packets(let packets): packets.codec.name
      case nil: "no format"
      }
    return "<\(identity): \(channelCount) ch, \(sampleRate) Hz, \(kind)>"
  }

  // MARK: Archives

  /// True.
  public class var supportsSecureCoding: Bool { true }

  private static let keys = (description: "streamDescription", layout: "layout", cookie: "cookie")

  /// Writes the format into an archive.
  public func encode(with coder: NSCoder) {
    let bytes = unsafe Data(
      bytes: streamDescription, count: MemoryLayout<AudioStreamBasicDescription>.size)
    coder.encode(NSData(data: bytes), forKey: Self.keys.description)
    if let channelLayout { coder.encode(channelLayout, forKey: Self.keys.layout) }
    if let magicCookie { coder.encode(NSData(data: magicCookie), forKey: Self.keys.cookie) }
  }

  /// Reads a format from an archive; nil if the archive has none.
  public required convenience init?(coder: NSCoder) {
    guard let bytes = coder.decodeObject(of: NSData.self, forKey: Self.keys.description),
      bytes.length == MemoryLayout<AudioStreamBasicDescription>.size
    else { return nil }
    func object<Object: NSObject & NSCoding>(_ type: Object.Type, _ key: String) -> Object? {
      coder.containsValue(forKey: key) ? coder.decodeObject(of: type, forKey: key) : nil
    }
    self.init(
      unsafe bytes.bytes.loadUnaligned(as: AudioStreamBasicDescription.self),
      object(AVAudioChannelLayout.self, Self.keys.layout),
      cookie: object(NSData.self, Self.keys.cookie).map { Data(referencing: $0) })
  }
}
