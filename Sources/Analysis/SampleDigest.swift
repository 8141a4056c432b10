import CFFmpeg
package import Codecs
import Files
package import RealTime

/// The SHA-256 sum of samples, by libavutil. One thread at a time.
@safe
package final class SampleDigest {
  private let context: OpaquePointer

  /// Creates a sum of nothing; nil if there is no memory.
  package init?() {
    guard let context = ffmpeg.av_sha_alloc() else { return nil }
    unsafe self.context = unsafe context
    unsafe _ = ffmpeg.av_sha_init(context, 256)
  }

  deinit { unsafe ffmpeg.av_free(UnsafeMutableRawPointer(context)) }

  package func add(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    unsafe ffmpeg.av_sha_update(context, start.assumingMemoryBound(to: UInt8.self), bytes.count)
  }

  /// Returns the sum in 64 hexadecimal digits. The last call.
  package func finish() -> String {
    var sum = [UInt8](repeating: 0, count: 32)
    unsafe ffmpeg.av_sha_final(context, &sum)
    return sum.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns the form of the samples that are summed up: interleaved, little-endian, 32-bit integers for
  /// integers and lossless codecs, and floats for everything else. Narrower integers are in the high
  /// bits, so that the same sound in another width or file has the same sum.
  package static func form(of format: StreamFormat) -> PCMFormat {
    func form(_ kind: PCMFormat.Kind, bits: Int) -> PCMFormat {
      PCMFormat(
        sampleRate: format.sampleRate, channels: format.channels, kind: kind, bitsPerSample: bits)
    }
    switch format {
    case .pcm(let pcm) where pcm.kind == .float: return form(.float, bits: pcm.bitsPerSample)
    case .pcm: return form(.signedInteger, bits: 32)
    case .packets(let packets):
      return packets.codec.isLossless ? form(.signedInteger, bits: 32) : form(.float, bits: 32)
    }
  }

  /// Returns FFmpeg's name of a form, such as s32le.
  package static func name(of form: PCMFormat) -> String {
    "\(form.kind == .float ? "f" : "s")\(form.bitsPerSample)le"
  }
}
