package import RealTime

/// Writes floats to a new file of linear PCM, in the coding of the file. One thread at a time; every
/// call may block on the disk.
package final class SoundFileWriter {
  package let file: SoundFile
  private let store: FileStore
  private var isOpen = true

  /// Samples that are written at a time, at the most.
  private static var samplesAtOnce: Int { 8192 }
  private var coded: [UInt8]

  /// Makes a file.
  ///
  /// - Parameters:
  ///   - container: Floats in `aiff` make an AIFF-C file.
  ///   - format: Of its bytes the order does not count: it is the container's usual one.
  ///   - isReplacing: False to fail if the file exists.
  package init(
    path: String, container: Container, format: PCMFormat, isReplacing: Bool
  ) throws(SoundFileError) {
    let container = container == .aiff && format.kind == .float ? .aifc : container
    var format = format
    format.isBigEndian = container.isBigEndian && format.bytesPerSample > 1
    guard SoundFile.canHold(format, in: container) else {
      throw SoundFileError(
        .unwritable("\(format.words) in \(container) files"), path: path)
    }
    store = try FileStore(creating: path, isReplacing: isReplacing)
    file = try SoundFile.create(in: store, container: container, format: format)
    coded = [UInt8](repeating: 0, count: Self.samplesAtOnce * format.bytesPerSample)
  }

  deinit { discard() }

  /// Appends frames: interleaved floats. Integers are the nearest to their samples (of two that are as
  /// near the even one), clipped at full scale.
  ///
  /// - Returns: How many samples were clipped.
  package func write(_ samples: UnsafeMutableBufferPointer<Float>) throws(SoundFileError) -> Int {
    // To interleave is done already: it is one long channel.
    var single = file.format
    single.channels = 1
    guard let layout = single.layout, var plane = samples.baseAddress else { return 0 }
    let isFloat = single.kind == .float
    let scale = Double(sign: .plus, exponent: single.bitsPerSample - 1, significand: 1)
    var clipped = 0
    for first in stride(from: 0, to: samples.count, by: Self.samplesAtOnce) {
      let count = min(Self.samplesAtOnce, samples.count - first)
      if !isFloat {
        for i in first..<first + count {
          let value = unsafe (Double(samples[i]) * scale).rounded(.toNearestOrEven)
          if value > scale - 1 || value < -scale { clipped += 1 }
        }
      }
      unsafe coded.withUnsafeMutableBytes { coded in
        guard let memory = coded.baseAddress else { return }
        unsafe layout.store(from: &plane, at: 0, frames: count, to: memory, planeFrames: 0)
      }
      unsafe plane += count
      let written = unsafe coded.withUnsafeBytes { coded in
        Result { () throws(SoundFileError) in
          try unsafe file.writeBytes(
            at: file.byteCount, from: .init(rebasing: coded[..<(count * single.bytesPerSample)]))
        }
      }
      try written.get()
    }
    return clipped
  }

  /// Completes the file; when this returns it is on the disk, as far as the system tells. If that
  /// fails, the file is taken away.
  package func close() throws(SoundFileError) {
    guard isOpen else { return }
    do throws(SoundFileError) {
      try file.close()
      try store.synchronize()
      isOpen = false
    } catch {
      discard()
      throw error
    }
  }

  /// Gives the file up and takes away what was written of it.
  package func discard() {
    guard isOpen else { return }
    isOpen = false
    store.remove()
  }
}
