package import RealTime

/// A codec: a coding of sound as packets, other than linear PCM.
package enum Codec: String, CaseIterable, Hashable, Sendable {
  case aac, aacHE, aacHEv2, alac, flac, opus, vorbis
  case mp1, mp2, mp3, ima4, msIMA, ulaw, alaw, gsm, ac3, eac3, amrNarrow, amrWide
}

/// The format of a stream of packets.
package struct PacketFormat: Hashable, Sendable {
  package var codec: Codec
  /// Frames per second of the decoded sound; 0 if not yet known.
  package var sampleRate: Double
  /// 0 if not yet known.
  package var channels: Int
  /// Decoded frames of each packet; 0 if they vary or are not yet known.
  package var framesPerPacket: Int
  /// Bytes of each packet; 0 if they vary.
  package var bytesPerPacket: Int
  /// Significant bits of a sample for lossless codecs (16, 20, 24 or 32); else 0.
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

/// A packet's position in a buffer, and its frames.
package struct PacketExtent: Hashable, Sendable {
  /// Bytes from the start of the buffer.
  package var offset: Int
  package var bytes: Int
  /// Decoded frames, if they vary in the format; else 0.
  package var frames: Int
  /// Decoded frames to leave out, which `frames` does not count: joined streams have priming and
  /// remainder inside the file.
  package var trim = PacketTrim()

  package init(offset: Int, bytes: Int, frames: Int = 0, trim: PacketTrim = PacketTrim()) {
    self.offset = offset
    self.bytes = bytes
    self.frames = frames
    self.trim = trim
  }
}

/// Frames of a packet that are decoded but not heard: at its start and at its end.
package struct PacketTrim: Hashable, Sendable {
  package var start = 0
  package var end = 0
  package init(start: Int = 0, end: Int = 0) {
    self.start = start
    self.end = end
  }
}

/// The counts of valid, priming and remainder frames of a stream's packets.
package struct PacketTable: Hashable, Sendable {
  /// Frames of the original sound.
  package var validFrames: Int64
  /// Frames before them, which only prime the decoder.
  package var primingFrames: Int
  /// Frames after them, which pad the last packet.
  package var remainderFrames: Int
  /// Frames of all packets.
  package var frames: Int64 { Int64(primingFrames) + validFrames + Int64(remainderFrames) }

  package init(validFrames: Int64, primingFrames: Int, remainderFrames: Int) {
    self.validFrames = validFrames
    self.primingFrames = primingFrames
    self.remainderFrames = remainderFrames
  }
}
