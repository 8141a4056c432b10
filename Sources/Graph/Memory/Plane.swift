import System

/// A buffer of samples, aligned for vector instructions, touched and locked in memory.
@safe
final class Plane: @unchecked Sendable {
  let samples: UnsafeMutablePointer<Float>
  private let pages: [ArenaPage]

  /// Allocates a silent buffer.
  init(frames: Int) {
    var pages: [ArenaPage] = []
    // Whole cache lines: the samples of two planes never share one.
    unsafe samples = Arena.large.allocate(
      (frames + 15) / 16 * 16, of: Float.self, keptBy: &pages)
    self.pages = pages
  }
}
