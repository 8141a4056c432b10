package import CFFmpeg

extension Codec {
  /// Name of the codec.
  package var name: String {
    switch self {
    case .aac: "AAC"
    case .aacHE: "HE-AAC"
    case .aacHEv2: "HE-AAC v2"
    case .alac: "Apple Lossless"
    case .flac: "FLAC"
    case .opus: "Opus"
    case .vorbis: "Vorbis"
    case .mp1: "MPEG Layer 1"
    case .mp2: "MPEG Layer 2"
    case .mp3: "MPEG Layer 3"
    case .ima4: "IMA 4:1"
    case .msIMA: "DVI/Intel IMA"
    case .ulaw: "µ-law 2:1"
    case .alaw: "A-law 2:1"
    case .gsm: "Microsoft GSM 6.10"
    case .ac3: "AC-3"
    case .eac3: "Enhanced AC-3"
    case .amrNarrow: "AMR narrow band"
    case .amrWide: "AMR wide band"
    }
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
    switch self {
    case .aac, .aacHE, .aacHEv2: AV_CODEC_ID_AAC
    case .alac: AV_CODEC_ID_ALAC
    case .flac: AV_CODEC_ID_FLAC
    case .opus: AV_CODEC_ID_OPUS
    case .vorbis: AV_CODEC_ID_VORBIS
    case .mp1: AV_CODEC_ID_MP1
    case .mp2: AV_CODEC_ID_MP2
    case .mp3: AV_CODEC_ID_MP3
    case .ima4: AV_CODEC_ID_ADPCM_IMA_QT
    case .msIMA: AV_CODEC_ID_ADPCM_IMA_WAV
    case .ulaw: AV_CODEC_ID_PCM_MULAW
    case .alaw: AV_CODEC_ID_PCM_ALAW
    case .gsm: bytesPerPacket == 33 ? AV_CODEC_ID_GSM : AV_CODEC_ID_GSM_MS
    case .ac3: AV_CODEC_ID_AC3
    case .eac3: AV_CODEC_ID_EAC3
    case .amrNarrow: AV_CODEC_ID_AMR_NB
    case .amrWide: AV_CODEC_ID_AMR_WB
    }
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
    let preferred: String? =
      switch self {
      // libavcodec's own decoder outputs packets of varying lengths.
      case .opus: "libopus"
      // libavcodec's default decoders for these round to 16 bits.
      case .mp1: "mp1float"
      case .mp2: "mp2float"
      default: nil
      }
    if let preferred, let decoder = unsafe ffmpeg.avcodec_find_decoder_by_name(preferred) {
      return unsafe decoder
    }
    return ffmpeg.avcodec_find_decoder(identifier(bytesPerPacket: bytesPerPacket))
  }

  func encoder(bytesPerPacket: Int) -> UnsafePointer<AVCodec>? {
    switch self {
    // libavcodec cannot encode either.
    case .aacHE, .aacHEv2: nil
    // libavcodec's own encoders of these are experimental.
    case .opus: unsafe ffmpeg.avcodec_find_encoder_by_name("libopus")
    case .vorbis: unsafe ffmpeg.avcodec_find_encoder_by_name("libvorbis")
    default: ffmpeg.avcodec_find_encoder(identifier(bytesPerPacket: bytesPerPacket))
    }
  }

  /// Returns the frames of each packet; 0 if they vary or depend on the stream.
  package func framesPerPacket(sampleRate: Double, channels: Int) -> Int {
    switch self {
    case .aac: 1024
    case .aacHE, .aacHEv2: 2048
    case .alac: 4096
    case .flac, .opus, .vorbis, .msIMA: 0
    case .mp1: 384
    case .mp2: 1152
    case .mp3: sampleRate > 0 && sampleRate < 32000 ? 576 : 1152
    case .ima4: 64
    case .ulaw, .alaw: 1
    case .gsm: 320
    case .ac3, .eac3: 1536
    case .amrNarrow: 160
    case .amrWide: 320
    }
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
  package var encodedChannels: Int {
    switch self {
    case .gsm, .amrNarrow, .amrWide: 1
    case .mp1, .mp2, .mp3, .ima4, .msIMA, .aacHEv2: 2
    case .ac3, .eac3: 6
    case .aac, .aacHE, .alac, .flac, .opus, .vorbis: 8
    case .ulaw, .alaw: 64
    }
  }

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
