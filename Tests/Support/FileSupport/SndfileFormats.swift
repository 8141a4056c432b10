import CSndfile
import Foundation

/// A file type of libsndfile in an encoding, a byte order and a number of channels that libsndfile
/// can write.
package struct SndfileFormat: Sendable, CustomStringConvertible {
  /// libsndfile's number for type, encoding and byte order.
  private let format: Int32
  package let channels: Int
  /// libsndfile's names of the type and of the encoding.
  package let type: String
  package let encoding: String
  package let fileExtension: String

  package static let frames = 1000

  package var description: String {
    let order = ["", " little", " big"][Int(format) >> 28 & 3]
    return "\(type), \(encoding)\(order), \(channels)"
  }

  /// Frames per second.
  package var sampleRate: Int {
    switch Int(format) & SF_FORMAT_TYPEMASK {
    // These have one rate.
    case SF_FORMAT_WVE, SF_FORMAT_RAW: 8000
    case SF_FORMAT_XI: 44_100
    case SF_FORMAT_OGG: 48_000
    default: 22_050
    }
  }

  /// The largest difference between decoders of the encoding that are both right.
  package var tolerance: Double {
    switch Int(format) & SF_FORMAT_SUBMASK {
    case SF_FORMAT_VORBIS, SF_FORMAT_OPUS, SF_FORMAT_MPEG_LAYER_III: 1e-3
    // libavcodec rounds differently, and the differences add up in a packet.
    case SF_FORMAT_IMA_ADPCM: 5e-3
    // SDS has 7 bits in a byte, so there are more bits than the header tells.
    case SF_FORMAT_PCM_S8 where isSDS: 0x1p-7
    case SF_FORMAT_PCM_16 where isSDS: 0x1p-15
    case SF_FORMAT_PCM_24 where isSDS: 0x1p-23
    default: 0
    }
  }

  private var isSDS: Bool { Int(format) & SF_FORMAT_TYPEMASK == SF_FORMAT_SDS }

  /// All that libsndfile can write and then open by itself, by its own lists.
  package static let all: [SndfileFormat] = {
    var all: [SndfileFormat] = []
    for (type, typeName, fileExtension) in list(SFC_GET_FORMAT_MAJOR_COUNT, SFC_GET_FORMAT_MAJOR) {
      for (encoding, name, _) in list(SFC_GET_FORMAT_SUBTYPE_COUNT, SFC_GET_FORMAT_SUBTYPE) {
        // libsndfile has no encoder for these two.
        if [SF_FORMAT_MPEG_LAYER_I, SF_FORMAT_MPEG_LAYER_II].contains(encoding) { continue }
        // In WAVE files it has none for the third either.
        if type == SF_FORMAT_WAV, encoding == SF_FORMAT_MPEG_LAYER_III { continue }
        // libsndfile 1.2 cannot read these itself, or not what it was given.
        if [SF_FORMAT_ALAC_20, SF_FORMAT_ALAC_24, SF_FORMAT_ALAC_32].contains(encoding) {
          continue
        }
        if type == SF_FORMAT_AIFF, encoding == SF_FORMAT_DWVW_12 { continue }
        var known = fileExtension
        if type == SF_FORMAT_RAW {
          // Of files without a header, libsndfile opens those whose extension tells the encoding.
          guard let own = [SF_FORMAT_VOX_ADPCM: "vox", SF_FORMAT_GSM610: "gsm"][encoding] else {
            continue
          }
          known = own
        }
        for (order, channels) in [
          (0, 1), (0, 2), (SF_ENDIAN_LITTLE, 2), (SF_ENDIAN_BIG, 2), (SF_ENDIAN_LITTLE, 1),
          (SF_ENDIAN_BIG, 1),
        ] {
          let format = SndfileFormat(
            format: Int32(type | encoding | order), channels: channels, type: typeName,
            encoding: name, fileExtension: known)
          var info = format.info
          if sf_format_check(&info) != 0 { all.append(format) }
        }
      }
    }
    return all
  }()

  private static func list(_ count: Int, _ entry: Int) -> [(Int, String, String)] {
    var number: Int32 = 0
    sf_command(nil, Int32(count), &number, 4)
    return (0..<number).map { index in
      var info = SF_FORMAT_INFO()
      info.format = index
      sf_command(nil, Int32(entry), &info, Int32(MemoryLayout<SF_FORMAT_INFO>.size))
      let ending = info.extension.map { String(cString: $0) } ?? ""
      return (Int(info.format), String(cString: info.name), ending)
    }
  }

  private var info: SF_INFO {
    var info = SF_INFO()
    info.samplerate = Int32(sampleRate)
    info.channels = Int32(channels)
    info.format = format
    return info
  }

  /// Writes a file with a tone and noise, and returns its path.
  package func make(in folder: TemporaryFolder) throws -> String {
    let path = folder.file("sound.\(fileExtension)")
    var info = info
    guard let file = sf_open(path, Int32(SFM_WRITE), &info) else {
      throw ToolFailure(description: "\(self): \(String(cString: sf_strerror(nil)))")
    }
    defer { sf_close(file) }
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    let samples = (0..<Self.frames * channels).map { index in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let noise = Double(Int64(bitPattern: state)) / 0x1p63
      return 0.5 * sin(Double(index / channels) * 0.05) + 0.2 * noise
    }
    guard sf_writef_double(file, samples, Int64(Self.frames)) == Int64(Self.frames) else {
      throw ToolFailure(description: "\(self): \(String(cString: sf_strerror(file)))")
    }
    return path
  }
}

/// The frames of a file, interleaved, as libsndfile decodes them.
package func sndfileSamples(_ path: String) throws -> (samples: [Double], channels: Int, rate: Int)
{
  var info = SF_INFO()
  guard let file = sf_open(path, Int32(SFM_READ), &info) else {
    throw ToolFailure(description: "\(path): \(String(cString: sf_strerror(nil)))")
  }
  defer { sf_close(file) }
  var samples = [Double](repeating: 0, count: Int(info.frames) * Int(info.channels))
  let count = sf_readf_double(file, &samples, info.frames)
  samples.removeLast(samples.count - Int(count) * Int(info.channels))
  return (samples, Int(info.channels), Int(info.samplerate))
}
