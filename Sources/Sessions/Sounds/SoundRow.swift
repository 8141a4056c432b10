package import Files
package import RealTime

/// Sounds in a row without gaps. Any thread.
///
/// Files of one linear PCM format are read as stored. Otherwise all have the first file's rate and the
/// largest number of channels, as 32-bit floats; a single channel goes to the first two.
package final class SoundRow: SoundSource {
  package let path: String
  package let format: PCMFormat
  package let frames: Int64
  package let sounds: [any SoundSource]
  /// The first frame of each sound.
  package let starts: [Int64]
  /// Whether each sound has a single channel that goes to two.
  private let areMono: [Bool]

  /// The sounds that are whole files.
  package var files: [SoundReader] { sounds.compactMap { $0 as? SoundReader } }
  package var warnings: [String] { sounds.flatMap(\.warnings) }
  package var faults: [String] { sounds.flatMap(\.faults) }

  /// Opens the files. Blocks.
  ///
  /// - Parameters:
  ///   - paths: At least one path.
  ///   - soundFont: Path of the SoundFont for MIDI files; nil for the default.
  package convenience init(paths: [String], soundFont: String? = nil) throws(SoundFileError) {
    var files: [any SoundSource] = []
    for path in paths { files.append(try openSound(path: path, soundFont: soundFont)) }
    let channels = files.map(\.format.channels)
    if files.contains(where: { $0.format != files[0].format }) {
      let format = PCMFormat(
        sampleRate: files[0].format.sampleRate, channels: files.map(\.format.channels).max() ?? 1,
        kind: .float, bitsPerSample: 32)
      files = []
      for path in paths {
        files.append(try openSound(path: path, soundFont: soundFont, as: format))
      }
    }
    let most = files[0].format.channels
    self.init(files, areMono: channels.map { $0 == 1 && most > 1 })
  }

  /// Creates a row of sounds, at least one. All have the same format.
  package convenience init(_ sounds: [any SoundSource]) {
    self.init(sounds, areMono: sounds.map { _ in false })
  }

  private init(_ sounds: [any SoundSource], areMono: [Bool]) {
    self.sounds = sounds
    self.areMono = areMono
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
      if areMono[index] {
        let samples = unsafe UnsafeMutableRawBufferPointer(
          rebasing: buffer[(done * bytesPerFrame)..<((done + read) * bytesPerFrame)])
        unsafe Self.spread(samples.assumingMemoryBound(to: Float.self), format.channels)
      }
      done += read
    }
    return done
  }

  /// Copies the first channel of interleaved frames to the second one.
  private static func spread(_ samples: UnsafeMutableBufferPointer<Float>, _ channels: Int) {
    for frame in stride(from: 0, to: samples.count, by: channels) {
      unsafe samples[frame + 1] = samples[frame]
    }
  }
}
