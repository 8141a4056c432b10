import AudioQueue
import Files
import Glibc
import RealTime

/// What `cuejack play --render` makes: a file of what all players together would sound like.
struct Rendering {
  private let writer: SoundFileWriter
  /// What each queue renders to, and what is mixed: floats at the first file's rate.
  let format: PCMFormat
  private static var framesAtOnce: Int { 16384 }

  /// Begins the file `path` for the sound of `files`: at the rate and depth of the first of them, with as
  /// many channels as any has.
  init(_ path: String, of files: [SoundReader], isReplacing: Bool) throws(SoundFileError) {
    guard let container = Container(forPath: path), container.holdsPCM else {
      throw SoundFileError(
        .cannotWrite("its name has to end in .wav, .aiff, .caf, .w64, .rf64 or .au"), path: path)
    }
    var status = stat()
    if isReplacing, unsafe stat(path, &status) == 0 {
      for file in files {
        var other = stat()
        if unsafe stat(file.path, &other) == 0, other.st_dev == status.st_dev,
          other.st_ino == status.st_ino
        {
          throw SoundFileError(.cannotWrite("it is one of those that are played"), path: path)
        }
      }
    }
    let first = files[0].format
    let channels = files.map(\.format.channels).max() ?? 1
    let isFloat = first.kind == .float
    format = PCMFormat(
      sampleRate: first.sampleRate, channels: channels, kind: .float, bitsPerSample: 32)
    writer = try SoundFileWriter(
      path: path, container: container,
      format: PCMFormat(
        sampleRate: first.sampleRate, channels: channels, kind: isFloat ? .float : .signedInteger,
        bitsPerSample: isFloat ? 32 : max(16, first.bitsPerSample)),
      isReplacing: isReplacing)
  }

  /// What was written.
  struct Result {
    var frames: Int64 = 0
    /// Samples that were louder than the file can hold.
    var clipped: Int64 = 0
  }

  /// Renders all players to their ends, adds them up and completes the file.
  ///
  /// - Parameters:
  ///   - players: They were started and render to `format`.
  ///   - isStopped: Asked now and then: true to give it up, and the file is taken away.
  /// - Returns: Nil if it was given up.
  func run(_ players: [FilePlayer], isStopped: () -> Bool) throws -> Result? {
    let count = Self.framesAtOnce * format.channels
    var mix = [Float](repeating: 0, count: count)
    var voice = [Float](repeating: 0, count: count)
    var result = Result()
    do {
      while true {
        if isStopped() {
          writer.discard()
          return nil
        }
        var longest = 0
        for player in players {
          let frames = try render(player, &voice)
          let samples = frames * format.channels
          let common = min(samples, longest * format.channels)
          for i in 0..<common { mix[i] += voice[i] }
          for i in common..<samples { mix[i] = voice[i] }
          longest = max(longest, frames)
        }
        if longest == 0 { break }
        result.frames += Int64(longest)
        let samples = longest * format.channels
        result.clipped += try Int64(
          unsafe mix.withUnsafeMutableBufferPointer {
            try unsafe writer.write(UnsafeMutableBufferPointer(rebasing: $0[..<samples]))
          })
      }
      try writer.close()
    } catch {
      writer.discard()
      throw error
    }
    return result
  }

  /// Renders as many frames as fit, or all that are left.
  private func render(_ player: FilePlayer, _ samples: inout [Float]) throws(QueueError) -> Int {
    let bytesPerFrame = format.bytesPerFrame
    let queue = player.queue
    let result = unsafe samples.withUnsafeMutableBytes { memory -> Swift.Result<Int, QueueError> in
      var done = 0
      do throws(QueueError) {
        while done < Self.framesAtOnce {
          let frames = try unsafe queue.render(
            frames: Self.framesAtOnce - done,
            into: .init(rebasing: memory[(done * bytesPerFrame)...]))
          if frames == 0 { break }
          done += frames
        }
        return .success(done)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
