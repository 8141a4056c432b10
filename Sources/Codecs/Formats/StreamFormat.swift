package import RealTime

/// The format of a sound stream: linear PCM or packets.
package enum StreamFormat: Equatable, Sendable {
  case pcm(PCMFormat)
  case packets(PacketFormat)

  /// Frames per second of the decoded sound.
  package var sampleRate: Double {
    get {
      switch self {
      case .pcm(let format): format.sampleRate
      case .packets(let format): format.sampleRate
      }
    }
    set {
      switch self {
      case .pcm(var format):
        format.sampleRate = newValue
        self = .pcm(format)
      case .packets(var format):
        format.sampleRate = newValue
        self = .packets(format)
      }
    }
  }

  package var channels: Int {
    switch self {
    case .pcm(let format): format.channels
    case .packets(let format): format.channels
    }
  }
}

extension StreamFormat {
  /// The format itself for linear PCM; otherwise the float format that packets decode to.
  package var decoded: PCMFormat {
    switch self {
    case .pcm(let format): format
    case .packets(let format):
      PCMFormat(
        sampleRate: format.sampleRate, channels: format.channels, kind: .float, bitsPerSample: 32)
    }
  }
}
