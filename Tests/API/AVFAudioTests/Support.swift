import AVFoundation
import TestSupport
import Testing

extension AVAudioFormat {
  /// The standard format, with a usual layout above two channels.
  static func standard(_ rate: Double = 48000, _ channels: AVAudioChannelCount = 2) -> AVAudioFormat
  {
    AVAudioFormat(standardFormatWithSampleRate: rate, channels: channels)
      ?? AVAudioFormat(
        standardFormatWithSampleRate: rate,
        channelLayout: AVAudioChannelLayout(
          layoutTag: channels == 6
            ? kAudioChannelLayoutTag_MPEG_5_1_A
            : kAudioChannelLayoutTag_DiscreteInOrder | channels)!)
  }

  /// Interleaved integers of 16 bits.
  static func shorts(_ rate: Double = 48000, _ channels: AVAudioChannelCount = 2) -> AVAudioFormat {
    AVAudioFormat(
      commonFormat: .pcmFormatInt16, sampleRate: rate, channels: channels, interleaved: true)!
  }

  static func packets(_ id: AudioFormatID, _ rate: Double = 48000, _ channels: UInt32 = 2)
    -> AVAudioFormat
  {
    AVAudioFormat(settings: [
      AVFormatIDKey: id, AVSampleRateKey: rate, AVNumberOfChannelsKey: channels,
    ])!
  }
}

extension AVAudioPCMBuffer {
  /// Creates a buffer of floats; the capacity is at least one frame.
  convenience init(_ channels: [[Float]], _ format: AVAudioFormat? = nil, room: Int? = nil) {
    let frames = channels[0].count
    self.init(
      pcmFormat: format ?? .standard(48000, AVAudioChannelCount(channels.count)),
      frameCapacity: AVAudioFrameCount(room ?? max(1, frames)))!
    frameLength = AVAudioFrameCount(frames)
    for (channel, samples) in channels.enumerated() {
      for (frame, sample) in samples.enumerated() {
        floatChannelData![channel][frame * stride] = sample
      }
    }
  }

  /// The valid samples of floats.
  var channels: [[Float]] {
    (0..<Int(format.channelCount)).map { channel in
      (0..<Int(frameLength)).map { floatChannelData![channel][$0 * stride] }
    }
  }
}

/// Numbers that look random and are the same in each run, multiples of 1/32768 below 1/2.
func noise(_ frames: Int, channels: Int = 2) -> [[Float]] {
  var state: UInt64 = 0x9E37_79B9
  return (0..<channels).map { _ in
    (0..<frames).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Float(Int16(truncatingIfNeeded: state >> 48) / 2) / 32768
    }
  }
}

/// A sine of a frequency for each channel.
func tones(_ frames: Int, _ hertz: [Double], rate: Double = 48000) -> [[Float]] {
  hertz.map { hertz in
    (0..<frames).map { Float(sin(2 * .pi * hertz * Double($0) / rate) / 2) }
  }
}

/// Signal to noise ratio in dB of one channel.
func ratio(_ heard: some Collection<Float>, to sound: some Collection<Float>) -> Double {
  let signal = sound.reduce(0) { $0 + Double($1) * Double($1) }
  let noise = zip(heard, sound).reduce(0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
  return heard.count == sound.count ? 10 * log10(signal / noise) : -.infinity
}

/// Returns the error that a body throws.
func failure(_ body: () throws -> Void) throws -> NSError {
  do {
    try body()
  } catch {
    return error as NSError
  }
  throw SupportError("nothing was thrown")
}
