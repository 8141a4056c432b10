package import CFFmpeg

/// A codec: a coding of sound as packets, other than linear PCM.
package enum Codec: String, CaseIterable, Hashable, Sendable {
  case aac, aacHE, aacHEv2, alac, flac, opus, vorbis
  case mp1, mp2, mp3, ima4, msIMA, ulaw, alaw, gsm, ac3, eac3, amrNarrow, amrWide
}

/// Facts about a codec, which are the same for all of its streams.
private struct CodecFacts {
  let name: String
  /// Four characters of the Core Audio format ID.
  let formatID: String
  let identifier: AVCodecID
  /// Frames of each packet; 0 if they vary or depend on the stream.
  let framesPerPacket: Int
  /// Maximum number of channels that can be encoded.
  let channels: Int
  /// The decoder of libavcodec's to prefer to its own choice.
  var decoder: String?
  /// The encoder of libavcodec's; an empty name if it has none.
  var encoder: String?
}

extension Codec {
  private var facts: CodecFacts {
    func facts(
      _ name: String, _ formatID: String, _ identifier: AVCodecID, frames: Int, channels: Int,
      decoder: String? = nil, encoder: String? = nil
    ) -> CodecFacts {
      CodecFacts(
        name: name, formatID: formatID, identifier: identifier, framesPerPacket: frames,
        channels: channels, decoder: decoder, encoder: encoder)
    }
    return switch self {
    case .aac: facts("AAC", "aac ", AV_CODEC_ID_AAC, frames: 1024, channels: 8)
    // libavcodec cannot encode these two.
    case .aacHE: facts("HE-AAC", "aach", AV_CODEC_ID_AAC, frames: 2048, channels: 8, encoder: "")
    case .aacHEv2:
      facts("HE-AAC v2", "aacp", AV_CODEC_ID_AAC, frames: 2048, channels: 2, encoder: "")
    case .alac: facts("Apple Lossless", "alac", AV_CODEC_ID_ALAC, frames: 4096, channels: 8)
    case .flac: facts("FLAC", "flac", AV_CODEC_ID_FLAC, frames: 0, channels: 8)
    // libavcodec's own decoder of Opus outputs packets of varying lengths. Its own encoders of Opus and Vorbis are
    // experimental.
    case .opus:
      facts(
        "Opus", "opus", AV_CODEC_ID_OPUS, frames: 0, channels: 8, decoder: "libopus",
        encoder: "libopus")
    // Vorbis has no format ID on Apple's systems.
    case .vorbis:
      facts("Vorbis", "vorb", AV_CODEC_ID_VORBIS, frames: 0, channels: 8, encoder: "libvorbis")
    // libavcodec's default decoders for these two round to 16 bits.
    case .mp1:
      facts("MPEG Layer 1", ".mp1", AV_CODEC_ID_MP1, frames: 384, channels: 2, decoder: "mp1float")
    case .mp2:
      facts("MPEG Layer 2", ".mp2", AV_CODEC_ID_MP2, frames: 1152, channels: 2, decoder: "mp2float")
    case .mp3: facts("MPEG Layer 3", ".mp3", AV_CODEC_ID_MP3, frames: 1152, channels: 2)
    case .ima4: facts("IMA 4:1", "ima4", AV_CODEC_ID_ADPCM_IMA_QT, frames: 64, channels: 2)
    case .msIMA:
      facts("DVI/Intel IMA", "ms\0\u{11}", AV_CODEC_ID_ADPCM_IMA_WAV, frames: 0, channels: 2)
    case .ulaw: facts("µ-law 2:1", "ulaw", AV_CODEC_ID_PCM_MULAW, frames: 1, channels: 64)
    case .alaw: facts("A-law 2:1", "alaw", AV_CODEC_ID_PCM_ALAW, frames: 1, channels: 64)
    case .gsm:
      facts("Microsoft GSM 6.10", "ms\0\u{31}", AV_CODEC_ID_GSM_MS, frames: 320, channels: 1)
    case .ac3: facts("AC-3", "ac-3", AV_CODEC_ID_AC3, frames: 1536, channels: 6)
    case .eac3: facts("Enhanced AC-3", "ec-3", AV_CODEC_ID_EAC3, frames: 1536, channels: 6)
    case .amrNarrow: facts("AMR narrow band", "samr", AV_CODEC_ID_AMR_NB, frames: 160, channels: 1)
    case .amrWide: facts("AMR wide band", "sawb", AV_CODEC_ID_AMR_WB, frames: 320, channels: 1)
    }
  }

  /// Name of the codec.
  package var name: String { facts.name }

  /// The Core Audio format ID.
  package var formatID: UInt32 { facts.formatID.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

  /// Creates a codec from a Core Audio format ID; nil if there is no such codec.
  package init?(formatID: UInt32) {
    guard let codec = Self.allCases.first(where: { $0.formatID == formatID }) else { return nil }
    self = codec
  }

  /// True if the libavcodec in use can decode the codec.
  package var hasDecoder: Bool { unsafe decoder(bytesPerPacket: 0) != nil }

  /// True if the libavcodec in use can encode the codec.
  package var hasEncoder: Bool { unsafe encoder(bytesPerPacket: 0) != nil }

  /// True if decoding restores the samples bit for bit.
  package var isLossless: Bool { self == .alac || self == .flac }

  /// Returns libavcodec's id of the codec. GSM is Microsoft's with 65 bytes per packet, or plain
  /// GSM with 33.
  package func identifier(bytesPerPacket: Int = 0) -> AVCodecID {
    self == .gsm && bytesPerPacket == 33 ? AV_CODEC_ID_GSM : facts.identifier
  }

  /// Creates the codec for libavcodec's id; nil if it is none of these. For AAC the cookie tells
  /// the variants apart.
  package init?(identifier: AVCodecID) {
    let codec = Self.allCases.first {
      $0.identifier() == identifier || $0.identifier(bytesPerPacket: 33) == identifier
    }
    guard let codec else { return nil }
    self = codec
  }

  func decoder(bytesPerPacket: Int) -> UnsafePointer<AVCodec>? {
    if let name = facts.decoder, let decoder = unsafe ffmpeg.avcodec_find_decoder_by_name(name) {
      return unsafe decoder
    }
    return ffmpeg.avcodec_find_decoder(identifier(bytesPerPacket: bytesPerPacket))
  }

  func encoder(bytesPerPacket: Int) -> UnsafePointer<AVCodec>? {
    guard let name = facts.encoder else {
      return ffmpeg.avcodec_find_encoder(identifier(bytesPerPacket: bytesPerPacket))
    }
    return name.isEmpty ? nil : unsafe ffmpeg.avcodec_find_encoder_by_name(name)
  }

  /// Returns the frames of each packet; 0 if they vary or depend on the stream.
  package func framesPerPacket(sampleRate: Double, channels: Int) -> Int {
    self == .mp3 && sampleRate > 0 && sampleRate < 32000 ? 576 : facts.framesPerPacket
  }

  /// Returns the bytes of each packet; 0 if they vary or depend on the stream.
  package func bytesPerPacket(channels: Int) -> Int {
    switch self {
    case .ima4: 34 * channels
    case .ulaw, .alaw: channels
    case .gsm: 65
    default: 0
    }
  }

  /// Frames per second that the encoder accepts, in ascending order; empty if it accepts any.
  package var encodedSampleRates: [Double] {
    switch self {
    // The decoded sound always has this rate.
    case .opus: return [48000]
    case .gsm: return [8000]
    default: break
    }
    guard let codec = unsafe encoder(bytesPerPacket: 0) else { return [] }
    var count: CInt = 0
    let rates = unsafe UnsafeBufferPointer(
      start: cue_av_sample_rates(codec, &count), count: Int(count))
    return unsafe rates.map(Double.init).sorted()
  }

  /// Maximum number of channels that can be encoded.
  package var encodedChannels: Int { facts.channels }

  /// Bits of a sample that the codec can keep exactly; empty for lossy codecs.
  package var encodedBits: [Int] { isLossless ? [16, 24] : [] }

  /// Returns true if this many channels can be encoded.
  package func encodes(channels: Int) -> Bool {
    // libavcodec's libopus wrapper confuses the channel order of these.
    if self == .opus, channels == 5 || channels == 7 { return false }
    return (1...encodedChannels).contains(channels)
  }

  /// Returns the bit rates that the encoder accepts at a sample rate, in ascending order; empty if
  /// there is no choice. AAC, Opus and Vorbis accept any value between the first and the last.
  package func encodedBitRates(sampleRate: Double, channels: Int) -> [Int] {
    let isLow = sampleRate > 0 && sampleRate < 32000
    let kilobits: [Int] =
      switch self {
      case .aac:
        [
          8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 224, 256,
          288,
        ]
        .filter { Double(1000 * $0) <= 6 * max(8000, sampleRate) }.map { $0 * max(1, channels) }
      case .opus:
        [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256].map { $0 * max(1, channels) }
      case .vorbis: [32, 48, 64, 80, 96, 112, 128, 160, 192, 224].map { $0 * max(1, channels) }
      case .mp3:
        isLow
          ? [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
          : [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
      case .mp2:
        isLow
          ? [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
          : [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
      case .ac3, .eac3:
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]
      default: []
      }
    return kilobits.map { 1000 * $0 }
  }

  /// Returns the default bits per second; 0 where there is no choice.
  func usualBitRate(sampleRate: Double, channels: Int) -> Int {
    switch self {
    case .aac: min(64000, Int(6 * sampleRate)) * channels
    case .opus, .mp3: (sampleRate < 32000 ? 32000 : 64000) * channels
    case .vorbis: 80000 * channels
    case .mp2: (sampleRate < 32000 ? 64000 : 96000) * channels
    case .ac3, .eac3: channels > 2 ? 448_000 : 96000 * channels
    default: 0
    }
  }
}
