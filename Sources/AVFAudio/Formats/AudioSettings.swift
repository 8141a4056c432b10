import AudioToolbox
import Foundation

/// A dictionary of settings keys. Its values may be any numbers of Foundation or of Swift.
struct AudioSettings {
  /// The reason why a dictionary describes no format.
  struct Fault: Error {
    let reason: String
  }

  private let values: [String: Any]

  init(_ values: [String: Any]) { self.values = values }

  /// Returns the number of a key; nil if the key is not there.
  func number(_ key: String) throws(Fault) -> NSNumber? {
    guard let value = values[key] else { return nil }
    guard let number = value as? NSNumber else {
      throw Fault(reason: "\(key): \(value) is no number")
    }
    return number
  }

  /// Returns the number of a key, which must be whole and not negative; nil if the key is not there.
  func count(_ key: String) throws(Fault) -> UInt32? {
    guard let number = try number(key) else { return nil }
    guard let count = UInt32(exactly: number.doubleValue) else {
      throw Fault(reason: "\(key): \(number) is no number from 0 to 4294967295")
    }
    return count
  }

  private func flag(_ key: String) throws(Fault) -> Bool { try number(key)?.boolValue ?? false }

  /// Returns the text of a key; nil if the key is not there.
  func text(_ key: String) throws(Fault) -> String? {
    guard let value = values[key] else { return nil }
    guard let text = value as? String else { throw Fault(reason: "\(key): \(value) is no text") }
    return text
  }

  /// The channel layout; nil if there is none.
  var layout: AVAudioChannelLayout? {
    get throws(Fault) {
      guard let value = values[AVChannelLayoutKey] else { return nil }
      guard let data = value as? Data, let layout = ChannelLayout([UInt8](data)) else {
        throw Fault(reason: "\(AVChannelLayoutKey): the value is no AudioChannelLayout")
      }
      return AVAudioChannelLayout(layout)
    }
  }

  /// Returns the format without its channel layout.
  ///
  /// - Parameter isInFile: True if channels are interleaved whatever the settings say.
  func streamDescription(isInFile: Bool) throws(Fault) -> AudioStreamBasicDescription {
    guard let rate = try number(AVSampleRateKey)?.doubleValue else {
      throw Fault(reason: "\(AVSampleRateKey) is missing")
    }
    let layoutChannels = try layout?.channelCount
    guard let channels = try count(AVNumberOfChannelsKey) ?? layoutChannels else {
      throw Fault(reason: "\(AVNumberOfChannelsKey) is missing")
    }
    let id = try count(AVFormatIDKey) ?? kAudioFormatLinearPCM
    guard id == kAudioFormatLinearPCM else {
      var packets = AudioStreamBasicDescription()
      packets.mSampleRate = rate
      packets.mFormatID = id
      packets.mChannelsPerFrame = channels
      // Lossless codecs take the bits of the sound from here.
      packets.mBitsPerChannel = try count(AVEncoderBitDepthHintKey) ?? 0
      return packets
    }
    let isFloat = try flag(AVLinearPCMIsFloatKey)
    let isPlanar = try flag(AVLinearPCMIsNonInterleaved)
    let bits = try count(AVLinearPCMBitDepthKey) ?? (isFloat ? 32 : 16)
    guard (8...32).contains(bits) || (isFloat && bits == 64) else {
      throw Fault(reason: "\(AVLinearPCMBitDepthKey): \(bits) is not from 8 to 32")
    }
    return AudioStreamBasicDescription(
      pcmRate: rate, channels: channels, bits: bits, isFloat: isFloat,
      isBigEndian: try flag(AVLinearPCMIsBigEndianKey),
      isInterleaved: isInFile || !isPlanar)
  }

  /// Returns the settings of a file's encoder.
  func converterSettings(channels: Int) throws(Fault) -> AudioConverterCore.Settings {
    var settings = AudioConverterCore.Settings()
    let perChannel = try count(AVEncoderBitRatePerChannelKey).map { Int($0) * channels }
    settings.bitRate = try count(AVEncoderBitRateKey).map(Int.init) ?? perChannel
    if let quality = try count(AVEncoderAudioQualityKey) {
      settings.codecQuality = min(quality, 127)
    }
    if let quality = try count(AVEncoderAudioQualityForVBRKey) {
      settings.variableQuality = min(quality, 127)
    }
    if let strategy = try text(AVEncoderBitRateStrategyKey) {
      guard let mode = ConverterNames.bitRateMode(strategy) else {
        throw Fault(reason: "\(AVEncoderBitRateStrategyKey): there is no strategy \(strategy)")
      }
      settings.bitRateMode = mode
    }
    return settings
  }
}

extension AudioStreamBasicDescription {
  /// Creates packed linear PCM with signed integers or floats.
  init(
    pcmRate rate: Double, channels: UInt32, bits: UInt32, isFloat: Bool, isBigEndian: Bool = false,
    isInterleaved: Bool
  ) {
    var flags = isFloat ? kAudioFormatFlagIsFloat : kAudioFormatFlagIsSignedInteger
    if isBigEndian { flags |= kAudioFormatFlagIsBigEndian }
    if bits % 8 == 0 { flags |= kAudioFormatFlagIsPacked }
    if !isInterleaved { flags |= kAudioFormatFlagIsNonInterleaved }
    let bytes = (bits + 7) / 8 &* (isInterleaved ? channels : 1)
    self.init(
      mSampleRate: rate, mFormatID: kAudioFormatLinearPCM, mFormatFlags: flags,
      mBytesPerPacket: bytes, mFramesPerPacket: 1, mBytesPerFrame: bytes,
      mChannelsPerFrame: channels, mBitsPerChannel: bits, mReserved: 0)
  }
}
