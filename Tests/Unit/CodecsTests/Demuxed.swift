import CFFmpeg
import Codecs
import FileSupport
import Foundation

/// The packets of a file's first stream, read by libavformat.
struct Demuxed {
  var format: PacketFormat
  var extradata: [UInt8]
  var packets: [[UInt8]] = []

  struct Failure: Error, CustomStringConvertible { let description: String }

  init(_ path: String) throws {
    var context: UnsafeMutablePointer<AVFormatContext>?
    guard ffmpeg.avformat_open_input(&context, path, nil, nil) == 0, let context else {
      throw Failure(description: "libavformat does not open \(path)")
    }
    defer {
      var context = Optional(context)
      ffmpeg.avformat_close_input(&context)
    }
    _ = ffmpeg.avformat_find_stream_info(context, nil)
    let parameters = context.pointee.streams[0]!.pointee.codecpar!.pointee
    guard let codec = Codec(identifier: parameters.codec_id) else {
      throw Failure(description: "\(path) has none of our codecs")
    }
    format = PacketFormat(
      codec: codec, sampleRate: Double(parameters.sample_rate),
      channels: Int(parameters.ch_layout.nb_channels),
      bytesPerPacket: Int(parameters.block_align),
      bitsPerSample: Int(parameters.bits_per_raw_sample))
    extradata =
      parameters.extradata.map {
        Array(UnsafeBufferPointer(start: $0, count: Int(parameters.extradata_size)))
      } ?? []
    var packet = ffmpeg.av_packet_alloc()
    defer { ffmpeg.av_packet_free(&packet) }
    while ffmpeg.av_read_frame(context, packet) == 0 {
      packets.append(
        Array(UnsafeBufferPointer(start: packet!.pointee.data, count: Int(packet!.pointee.size))))
      ffmpeg.av_packet_unref(packet)
    }
  }
}

/// Returns interleaved floats, as in the raw files that ffmpeg reads and writes.
func interleaved(_ planes: [[Float]]) -> Data {
  var samples: [Float] = []
  for frame in planes[0].indices { for plane in planes { samples.append(plane[frame]) } }
  return samples.withUnsafeBytes { Data($0) }
}

func planes(_ data: Data, channels: Int) -> [[Float]] {
  let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  return (0..<channels).map { channel in
    stride(from: channel, to: samples.count - samples.count % channels, by: channels).map {
      samples[$0]
    }
  }
}

/// Returns the samples that ffmpeg decodes, including priming and remainder.
func ffmpegDecoded(_ path: String, channels: Int, _ arguments: [String] = []) throws -> [[Float]] {
  let outcome = try tool(
    "ffmpeg",
    ["-v", "error"] + arguments + ["-i", path, "-f", "f32le", "-c:a", "pcm_f32le", "-"])
  return planes(outcome.output, channels: channels)
}
