package import Codecs

/// Names, codes and abilities of a container. `Container.facts`, at the end of this file, has those of each one.
package struct ContainerFacts: Sendable {
  /// How a file is built, which decides what reads and writes it.
  enum Structure {
    /// A head, and sound in a place that it names: `FileHead`.
    case chunks
    /// Core Audio Format: `CAFFile`, `CAFBody`.
    case caf
    /// MPEG-4, and the containers based on it: `MPEG4File`, `MPEG4Body`.
    case mpeg4
    /// Pages of Ogg: `OggScanner`.
    case ogg
    /// Frames, each with a header, that can be found in the middle of a stream: `FrameScanner`.
    case frames
    /// Any other stream of packets.
    case stream
    /// libsndfile reads it.
    case foreign
  }
  enum ByteOrder { case little, big }

  let name: String
  /// File name extensions without the dot; the usual one first.
  package let extensions: [String]
  /// The Core Audio file type; nil if there is none.
  let type: ChunkID?
  /// HFS type codes.
  var codes: [ChunkID] = []
  /// Uniform type identifiers (UTIs).
  package let typeIdentifiers: [String]
  package let mimeTypes: [String]
  /// How files begin. A question mark stands for any byte.
  var starts: [String] = []
  let structure: Structure
  /// The layout of chunks; nil if there are none.
  var grammar: ChunkGrammar?
  /// libavformat's demuxer.
  let demuxer: String
  /// libavformat's muxer for a codec; nil if it is called like the demuxer.
  var muxer: (@Sendable (Codec) -> String)?
  /// The usual byte order of linear PCM; nil if the container cannot hold any.
  var byteOrder: ByteOrder?
  /// The codecs of packets that are written into it, if it `isWritable`; the usual one first.
  package let codecs: [Codec]
  /// Largest number of channels of packets that can be written.
  var mostChannels = 64
  /// True if Cuejack can write files.
  package private(set) var isWritable = true
  /// True if a writer needs no positions before the end of a stream.
  var isStreamable = false
  /// True if libavformat finds pictures in the files.
  var hasPictures = false
  /// True if files of packets store tags.
  var storesTags = true

  package var typeID: UInt32 { type?.code ?? 0 }
  package var typeCodes: [UInt32] { codes.map(\.code) }
  /// True if the container can hold linear PCM.
  package var holdsPCM: Bool { byteOrder != nil }
  /// True if linear PCM in this container is usually big-endian.
  package var isBigEndian: Bool { byteOrder == .big }
  /// True for MPEG-4 and the containers based on it.
  var isMPEG4: Bool { structure == .mpeg4 }
  var isMadeOfFrames: Bool { structure == .frames }
  /// True if libavformat's demuxer passes over ID3 tags before the file, and reads them.
  var passesOverTags: Bool { structure == .frames || structure == .stream }
}

extension Container {
  private static let mpeg4Codecs: [Codec] = [.aac, .aacHE, .aacHEv2, .alac, .ac3]
  private static let phoneCodecs: [Codec] = [.aac, .aacHE, .aacHEv2, .amrNarrow, .amrWide]

  /// The facts about the container. They are written here only.
  var facts: ContainerFacts {
    switch self {
    case .aiff:
      ContainerFacts(
        name: "AIFF", extensions: ["aiff", "aif"], type: "AIFF", codes: ["AIFF"],
        typeIdentifiers: ["public.aiff-audio"], mimeTypes: ["audio/aiff", "audio/x-aiff"],
        starts: ["FORM????AIFF"], structure: .chunks, grammar: .aiff, demuxer: "aiff",
        byteOrder: .big, codecs: [], hasPictures: true)
    case .aifc:
      ContainerFacts(
        name: "AIFF-C", extensions: ["aifc", "aiff", "aif"], type: "AIFC", codes: ["AIFC"],
        typeIdentifiers: ["public.aifc-audio"], mimeTypes: ["audio/aiff", "audio/x-aiff"],
        starts: ["FORM????AIFC"], structure: .chunks, grammar: .aiff, demuxer: "aiff",
        byteOrder: .big, codecs: [.ulaw, .alaw, .ima4], hasPictures: true)
    case .caf:
      ContainerFacts(
        name: "CAF", extensions: ["caf"], type: "caff", codes: ["caff"],
        typeIdentifiers: ["com.apple.coreaudio-format"], mimeTypes: ["audio/x-caf"],
        starts: ["caff"], structure: .caf, grammar: .caf, demuxer: "caf", byteOrder: .little,
        codecs: Codec.allCases.filter { $0 != .vorbis })
    case .wave:
      ContainerFacts(
        name: "WAVE", extensions: ["wav", "wave"], type: "WAVE", codes: ["WAVE"],
        typeIdentifiers: ["com.microsoft.waveform-audio"],
        mimeTypes: ["audio/vnd.wave", "audio/wav", "audio/wave", "audio/x-wav"],
        starts: ["RIFF????WAVE", "RIFX????WAVE"], structure: .chunks,
        grammar: .riff(bigEndian: false), demuxer: "wav", byteOrder: .little,
        codecs: [.ulaw, .alaw, .msIMA, .gsm, .mp3], isStreamable: true, hasPictures: true)
    case .rf64:
      // BW64 is RF64 with other chunks for object-based sound.
      ContainerFacts(
        name: "RF64", extensions: ["rf64", "wav"], type: "RF64",
        typeIdentifiers: ["public.rf64-audio"], mimeTypes: ["audio/wav", "audio/x-wav"],
        starts: ["RF64????WAVE", "BW64????WAVE"], structure: .chunks,
        grammar: .riff(bigEndian: false), demuxer: "wav", byteOrder: .little, codecs: [],
        hasPictures: true)
    case .wave64:
      ContainerFacts(
        name: "Wave64", extensions: ["w64"], type: "W64f", typeIdentifiers: ["com.sony.wave64"],
        mimeTypes: ["audio/x-w64"], starts: ["riff????????????????????wave"], structure: .chunks,
        grammar: .wave64, demuxer: "w64", byteOrder: .little, codecs: [])
    case .next:
      ContainerFacts(
        name: "NeXT/Sun AU", extensions: ["au", "snd"], type: "NeXT", codes: ["ULAW"],
        typeIdentifiers: ["public.au-audio", "public.ulaw-audio"],
        mimeTypes: ["audio/basic", "audio/au", "audio/x-au", "audio/snd"],
        starts: [".snd", "dns."], structure: .chunks, demuxer: "au", byteOrder: .big,
        codecs: [.ulaw, .alaw], isStreamable: true, storesTags: false)
    case .m4a:
      ContainerFacts(
        name: "Apple MPEG-4 Audio", extensions: ["m4a", "m4r"], type: "m4af",
        codes: ["M4A ", "m4af"], typeIdentifiers: ["public.mpeg-4-audio", "com.apple.m4a-audio"],
        mimeTypes: ["audio/x-m4a", "audio/mp4"], starts: ["????ftypM4A ", "????ftypM4P "],
        structure: .mpeg4, demuxer: "mp4", codecs: Self.mpeg4Codecs, hasPictures: true)
    case .mp4:
      ContainerFacts(
        name: "MPEG-4", extensions: ["mp4", "mpg4"], type: "mp4f", codes: ["mpg4", "mp4f"],
        typeIdentifiers: ["public.mpeg-4"], mimeTypes: ["audio/mp4", "video/mp4", "audio/mpeg4"],
        starts: ["????ftyp", "????moov", "????mdat", "????wide"], structure: .mpeg4, demuxer: "mp4",
        codecs: Self.mpeg4Codecs + [.eac3, .flac, .opus, .mp3], hasPictures: true)
    case .m4b:
      ContainerFacts(
        name: "MPEG-4 Audiobook", extensions: ["m4b"], type: "m4bf", codes: ["M4B ", "m4bf"],
        typeIdentifiers: ["com.apple.protected-mpeg-4-audio-b"],
        mimeTypes: ["audio/x-m4b", "audio/mp4"], starts: ["????ftypM4B "], structure: .mpeg4,
        demuxer: "mp4", codecs: Self.mpeg4Codecs, hasPictures: true)
    case .threeGP:
      ContainerFacts(
        name: "3GPP", extensions: ["3gp", "3gpp"], type: "3gpp", typeIdentifiers: ["public.3gpp"],
        mimeTypes: ["audio/3gpp", "video/3gpp"], starts: ["????ftyp3gp"], structure: .mpeg4,
        demuxer: "mp4", codecs: Self.phoneCodecs, hasPictures: true)
    case .threeGP2:
      ContainerFacts(
        name: "3GPP2", extensions: ["3g2", "3gp2"], type: "3gp2", typeIdentifiers: ["public.3gpp2"],
        mimeTypes: ["audio/3gpp2", "video/3gpp2"], starts: ["????ftyp3g2"], structure: .mpeg4,
        demuxer: "mp4", codecs: Self.phoneCodecs, hasPictures: true)
    case .adts:
      ContainerFacts(
        name: "AAC ADTS", extensions: ["aac", "adts"], type: "adts", codes: ["adts"],
        typeIdentifiers: ["public.aac-audio"],
        mimeTypes: ["audio/aac", "audio/aacp", "audio/x-aac"], structure: .frames, demuxer: "aac",
        muxer: { _ in "adts" }, codecs: [.aac, .aacHE, .aacHEv2], isStreamable: true,
        hasPictures: true)
    case .mp3:
      ContainerFacts(
        name: "MPEG Layer 3", extensions: ["mp3", "mpga"], type: "MPG3",
        codes: ["MPG3", "mpg3", "Mp3 ", "MP3 "], typeIdentifiers: ["public.mp3"],
        mimeTypes: ["audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/x-mpeg"], structure: .frames,
        demuxer: "mp3", codecs: [.mp3], mostChannels: 2, isStreamable: true, hasPictures: true)
    case .mp2:
      ContainerFacts(
        name: "MPEG Layer 2", extensions: ["mp2"], type: "MPG2", codes: ["MPG2", "mpg2"],
        typeIdentifiers: ["public.mp2"], mimeTypes: ["audio/mpeg", "audio/x-mp2"],
        structure: .frames, demuxer: "mp3", muxer: { _ in "mp2" }, codecs: [.mp2],
        isStreamable: true, hasPictures: true, storesTags: false)
    case .mp1:
      // No encoder writes it.
      ContainerFacts(
        name: "MPEG Layer 1", extensions: ["mp1"], type: "MPG1", codes: ["MPG1", "mpg1"],
        typeIdentifiers: ["public.mp1"], mimeTypes: ["audio/mpeg", "audio/x-mp1"],
        structure: .frames, demuxer: "mp3", codecs: [.mp1], isWritable: false, hasPictures: true,
        storesTags: false)
    case .ac3:
      ContainerFacts(
        name: "AC-3", extensions: ["ac3"], type: "ac-3", codes: ["ac-3"],
        typeIdentifiers: ["public.ac3-audio"], mimeTypes: ["audio/ac3", "audio/x-ac3"],
        structure: .frames, demuxer: "ac3", muxer: { $0 == .eac3 ? "eac3" : "ac3" },
        codecs: [.ac3, .eac3], isStreamable: true, storesTags: false)
    case .flac:
      ContainerFacts(
        name: "FLAC", extensions: ["flac"], type: "flac", typeIdentifiers: ["org.xiph.flac"],
        mimeTypes: ["audio/flac", "audio/x-flac"], starts: ["fLaC"], structure: .stream,
        demuxer: "flac", codecs: [.flac], isStreamable: true, hasPictures: true)
    case .ogg:
      ContainerFacts(
        name: "Ogg", extensions: ["ogg", "oga", "opus"], type: "Oggf",
        typeIdentifiers: ["org.xiph.ogg-audio"], mimeTypes: ["audio/ogg", "application/ogg"],
        starts: ["OggS"], structure: .ogg, demuxer: "ogg", muxer: { $0 == .opus ? "opus" : "ogg" },
        codecs: [.vorbis, .opus, .flac], isStreamable: true, hasPictures: true)
    case .amr:
      ContainerFacts(
        name: "AMR", extensions: ["amr"], type: "amrf",
        typeIdentifiers: ["org.3gpp.adaptive-multi-rate-audio"],
        mimeTypes: ["audio/amr", "audio/amr-wb"], starts: ["#!AMR"], structure: .stream,
        demuxer: "amr", codecs: [.amrNarrow, .amrWide], mostChannels: 1, isStreamable: true,
        storesTags: false)
    case .other:
      ContainerFacts(
        name: "other", extensions: [], type: nil, typeIdentifiers: [], mimeTypes: [],
        structure: .foreign, demuxer: "", codecs: [], isWritable: false)
    }
  }
}
