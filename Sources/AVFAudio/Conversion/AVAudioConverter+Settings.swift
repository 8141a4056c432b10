public import AudioToolbox
import Codecs
public import Foundation

extension AVAudioConverter {
  // MARK: Channels and samples

  /// For each channel of the output the channel of the input, or -1 for silence. First those in order, and one channel
  /// for both of two.
  public var channelMap: [NSNumber] {
    get { channelMapInForce.map { NSNumber(value: $0) } }
    set {
      change("channelMap") { $0.channelMap = newValue.map(\.int32Value) }
    }
  }

  /// True to mix the channels that the output lacks into those that it has, by the formats' layouts or the usual ones.
  /// A change takes back a channel map.
  public var downmix: Bool {
    get { settings.performsDownmix != 0 }
    set {
      guard newValue != downmix else { return }
      change("downmix") {
        $0.performsDownmix = newValue ? 1 : 0
        $0.channelMap = newValue ? nil : Self.firstMap(inputs, outputs)
      }
    }
  }

  /// True to dither integers of the output.
  public var dither: Bool {
    get { settings.dithering != 0 }
    set { change("dither") { $0.dithering = newValue ? UInt32(kDitherAlgorithm_TPDF) : 0 } }
  }

  // MARK: Rate

  /// The quality of the sample rate converter, an `AVAudioQuality` from 0 to 127. First the best.
  public var sampleRateConverterQuality: Int {
    get { Int(settings.quality) }
    set { change("sampleRateConverterQuality") { $0.quality = UInt32(min(max(0, newValue), 127)) } }
  }

  /// The algorithm of the sample rate converter. First the one for mastering.
  public var sampleRateConverterAlgorithm: String? {
    get { ConverterNames.algorithms.first { $0.1 == settings.complexity }?.0 }
    set {
      guard let found = ConverterNames.algorithms.first(where: { $0.0 == newValue }) else { return }
      change("sampleRateConverterAlgorithm") { $0.complexity = found.1 }
    }
  }

  /// The source of the frames with which the sample rate converter fills its filter before the first frame.
  public var primeMethod: AVAudioConverterPrimeMethod {
    get { AVAudioConverterPrimeMethod(rawValue: Int(settings.primeMethod)) ?? .normal }
    set { change("primeMethod") { $0.primeMethod = UInt32(newValue.rawValue) } }
  }

  // MARK: Codecs

  /// The encoder's or the decoder's magic cookie; nil if there is none. Only the decoder's is set.
  public var magicCookie: Data? {
    get {
      let cookie = encoder?.cookie ?? settings.cookie
      return cookie.isEmpty ? nil : Data(cookie)
    }
    set {
      guard decodes else { return }
      change("magicCookie") { $0.cookie = newValue.map { [UInt8]($0) } ?? [] }
    }
  }

  /// The encoder's bits per second; 0 if there is none, or no choice. It uses the nearest that it has.
  public var bitRate: Int {
    get { encoder?.bitRate ?? 0 }
    set {
      guard bitRate > 0, newValue > 0 else { return }
      change("bitRate") { $0.bitRate = newValue }
    }
  }

  /// The encoder's strategy; nil unless it is one of AAC.
  public var bitRateStrategy: String? {
    get {
      guard encoder?.format.codec == .aac else { return nil }
      return settings.bitRateMode == kAudioCodecBitRateControlMode_Variable
        ? AVAudioBitRateStrategy_Variable : AVAudioBitRateStrategy_LongTermAverage
    }
    set {
      guard encoder?.format.codec == .aac, let mode = newValue.flatMap(ConverterNames.bitRateMode)
      else { return }
      change("bitRateStrategy") { $0.bitRateMode = mode }
    }
  }

  /// The bit rates that the encoder has at any sample rate; nil without an encoder.
  public var availableEncodeBitRates: [NSNumber]? {
    encoder.map { encoder in
      encoder.format.codec.allEncodedBitRates(channels: encoder.format.channels)
        .map { NSNumber(value: $0) }
    }
  }

  /// The bit rates that the encoder has at its sample rate; nil without an encoder.
  public var applicableEncodeBitRates: [NSNumber]? {
    encoder.map { encoder in
      encoder.format.codec.encodedBitRates(
        sampleRate: encoder.format.sampleRate, channels: encoder.format.channels
      ).map { NSNumber(value: $0) }
    }
  }

  /// The sample rates that the encoder has, empty for any; nil without an encoder.
  public var availableEncodeSampleRates: [NSNumber]? {
    encoder?.format.codec.encodedSampleRates.map { NSNumber(value: $0) }
  }

  /// The same as `availableEncodeSampleRates`.
  public var applicableEncodeSampleRates: [NSNumber]? { availableEncodeSampleRates }

  /// The tags of the channel layouts that the encoder has; nil without an encoder.
  public var availableEncodeChannelLayoutTags: [NSNumber]? {
    encoder?.format.codec.encodedLayoutTags.map { NSNumber(value: $0) }
  }
}
