package import Files
package import RealTime

/// Sounds in a row without gaps. Any thread.
///
/// Files of one linear PCM format are read as stored. Otherwise all have the first file's rate and the
/// largest number of channels, as 32-bit floats.
package final class SoundRow: SoundSource {
  package let path: String
  package let format: PCMFormat
  package let frames: Int64
  package let sounds: [any SoundSource]
  /// The first frame of each sound.
  package let starts: [Int64]

  /// The sounds that are whole files.
  package var files: [SoundReader] { sounds.compactMap { $0 as? SoundReader } }
  package var isTruncated: Bool { sounds.contains(where: \.isTruncated) }

  /// Opens the files. Blocks.
  ///
  /// - Parameter paths: At least one path.
  package convenience init(paths: [String]) throws(SoundFileError) {
    var files: [SoundReader] = []
    for path in paths { files.append(try SoundReader(path: path)) }
    if files.contains(where: { $0.format != files[0].format }) {
      let format = PCMFormat(
        sampleRate: files[0].format.sampleRate, channels: files.map(\.format.channels).max() ?? 1,
        kind: .float, bitsPerSample: 32)
      files = []
      for path in paths { files.append(try SoundReader(path: path, as: format)) }
    }
    self.init(files)
  }

  /// Creates a row of sounds, at least one. All have the same format.
  package init(_ sounds: [any SoundSource]) {
    self.sounds = sounds
    path = sounds.count == 1 ? sounds[0].path : "\(sounds[0].path) and \(sounds.count - 1) more"
    format = sounds[0].format
    var next: Int64 = 0
    var starts: [Int64] = []
    for sound in sounds {
      starts.append(next)
      next += sound.frames
    }
    self.starts = starts
    frames = next
  }

  package func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames else { return 0 }
    let bytesPerFrame = format.bytesPerFrame
    let wanted = min(count, buffer.count / bytesPerFrame, Int(clamping: frames - frame))
    var done = 0
    while done < wanted {
      let next = frame + Int64(done)
      guard let index = starts.lastIndex(where: { $0 <= next }) else { break }
      let read = try unsafe sounds[index].read(
        startingAt: next - starts[index], frames: wanted - done,
        into: .init(rebasing: buffer[(done * bytesPerFrame)...]))
      // A sound that ends early is an error of the row, unless something was read before.
      if read == 0 { break }
      done += read
    }
    return done
  }
}
