package import RealTime

/// A way of coding sound as packets, other than linear PCM.
package enum Codec: String, CaseIterable, Hashable, Sendable {
  case aac, aacHE, aacHEv2, alac, flac, opus, vorbis
  case mp1, mp2, mp3, ima4, msIMA, ulaw, alaw, gsm, ac3, eac3, amrNarrow, amrWide
}

/// The format of a stream of packets.
package struct PacketFormat: Hashable, Sendable {
  package var codec: Codec
  /// Frames per second of the decoded sound; 0 if it is not known yet.
  package var sampleRate: Double
  /// 0 if it is not known yet.
  package var channels: Int
  /// Frames of the decoded sound in every packet; 0 if that varies, or is not known yet.
  package var framesPerPacket: Int
  /// Bytes of every packet; 0 if that varies.
  package var bytesPerPacket: Int
  /// Significant bits of a sample of the sound that a lossless codec coded (16, 20, 24 or 32); else 0.
  package var bitsPerSample: Int

  package init(
    codec: Codec, sampleRate: Double, channels: Int, framesPerPacket: Int = 0,
    bytesPerPacket: Int = 0, bitsPerSample: Int = 0
  ) {
    self.codec = codec
    self.sampleRate = sampleRate
    self.channels = channels
    self.framesPerPacket = framesPerPacket
    self.bytesPerPacket = bytesPerPacket
    self.bitsPerSample = bitsPerSample
  }
}

/// The format of a stream of sound.
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
  /// The format itself if it is linear PCM; else the floats that its packets decode to.
  package var decoded: PCMFormat {
    switch self {
    case .pcm(let format): format
    case .packets(let format):
      PCMFormat(
        sampleRate: format.sampleRate, channels: format.channels, kind: .float, bitsPerSample: 32)
    }
  }
}

/// Where a packet lies among others, and how many frames it stands for.
package struct PacketExtent: Hashable, Sendable {
  /// Bytes from the start of the memory that holds the packets.
  package var offset: Int
  package var bytes: Int
  /// Frames of the decoded sound, where the format lets them vary; else 0.
  package var frames: Int

  package init(offset: Int, bytes: Int, frames: Int = 0) {
    self.offset = offset
    self.bytes = bytes
    self.frames = frames
  }
}

/// Which of the frames that a stream's packets decode to are sound.
package struct PacketTable: Hashable, Sendable {
  /// Frames of sound.
  package var validFrames: Int64
  /// Frames before them, which only prepare the decoder.
  package var primingFrames: Int
  /// Frames after them, which fill the last packet.
  package var remainderFrames: Int

  package init(validFrames: Int64, primingFrames: Int, remainderFrames: Int) {
    self.validFrames = validFrames
    self.primingFrames = primingFrames
    self.remainderFrames = remainderFrames
  }
}
