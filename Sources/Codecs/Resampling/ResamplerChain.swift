/// A series of resamplers used as one. Not real time; one thread at a time.
///
/// If the output rate changes in the middle of a stream, a further resampler is appended to the
/// series. It takes the output of the others, so none of their delayed frames are lost. A new
/// stream needs only one resampler, or none if the rates are equal.
@safe
package final class ResamplerChain {
  private let inputRate: Double
  private let outputRate: Double
  private let channels: Int
  private var stages: [Resampler]
  /// The buffer before each stage. The first stage has one only if it was appended to an empty
  /// series.
  private var pipes: [Pipe] = []

  /// Creates a chain; nil if soxr cannot convert between these rates.
  package init?(from inputRate: Double, to outputRate: Double, channels: Int) {
    guard
      let stages = Self.stages(from: inputRate, to: outputRate, channels: channels)
    else { return nil }
    self.inputRate = inputRate
    self.outputRate = outputRate
    self.channels = channels
    self.stages = stages
  }

  /// Creates a chain that continues the stream of `chain`, with output at `outputRate`. Nil if soxr
  /// cannot convert between these rates.
  package init?(continuing chain: ResamplerChain, to outputRate: Double) {
    guard
      let stage = Resampler(
        from: chain.outputRate, to: outputRate, channels: chain.channels)
    else { return nil }
    inputRate = chain.inputRate
    self.outputRate = outputRate
    channels = chain.channels
    stages = chain.stages + [stage]
    pipes = chain.pipes
    // If nothing was converted so far, even the first stage gets a buffer before it.
    pipes.append(Pipe(channels: channels))
  }

  private static func stages(from inputRate: Double, to outputRate: Double, channels: Int)
    -> [Resampler]?
  {
    if inputRate == outputRate { return [] }
    return Resampler(from: inputRate, to: outputRate, channels: channels).map { [$0] }
  }

  /// True if the stream goes through more than the one resampler that its rates need.
  package var isContinued: Bool { !pipes.isEmpty }

  /// Resamples frames, as `Resampler.process` does. Without frames it outputs those for which there
  /// was no room before.
  package func process(
    _ input: Planes.Pointers?, frames inputFrames: Int, into output: Planes.Pointers, room: Int
  ) throws(Resampler.Failure) -> (consumed: Int, produced: Int) {
    let source = unsafe input.map { unsafe Planes.Advancing($0, channels: channels) }
    var left = inputFrames
    let produced = try unsafe run(stages.count, source, &left, into: output, room)
    return (inputFrames - left, produced)
  }

  /// Resamples frames in the last resampler only: frames that the others output before it was
  /// appended. With nil for `input`, it flushes the last resampler.
  package func processLast(
    _ input: Planes.Pointers?, frames inputFrames: Int, into output: Planes.Pointers, room: Int
  ) throws(Resampler.Failure) -> (consumed: Int, produced: Int) {
    guard let last = stages.last else { return (inputFrames, 0) }
    return try unsafe last.process(input, frames: inputFrames, into: output, room: room)
  }

  /// Discards the stream. The next input frame starts a new one.
  package func reset() {
    if isContinued, let fresh = Self.stages(from: inputRate, to: outputRate, channels: channels) {
      stages = fresh
      pipes = []
    }
    for stage in stages { stage.reset() }
  }

  /// Discards the stream of the last resampler.
  package func resetLast() { stages.last?.reset() }

  /// Runs the first `count` stages. `input` is nil after the end of the stream, else it has `left`
  /// frames.
  ///
  /// - Returns: Number of frames output.
  private func run(
    _ count: Int, _ input: Planes.Advancing?, _ left: inout Int, into output: Planes.Pointers,
    _ room: Int
  ) throws(Resampler.Failure) -> Int {
    guard let pipe = pipe(before: count) else {
      guard count > 0 else {
        guard let input else { return 0 }
        let copied = min(left, room)
        for channel in 0..<channels {
          unsafe output[channel].update(from: input.pointers[channel], count: copied)
        }
        input.advance(copied)
        left -= copied
        return copied
      }
      let (taken, given) = try unsafe stages[0].process(
        input?.pointers, frames: left, into: output, room: room)
      input?.advance(taken)
      left -= taken
      return given
    }
    let rest = unsafe Planes.Advancing(output, channels: channels)
    var produced = 0
    while produced < room {
      if pipe.count == 0 {
        pipe.start = 0
        pipe.count = try unsafe run(
          count - 1, input, &left, into: pipe.planes.pointers(), pipe.planes.capacity)
      }
      let hasEnded = pipe.count == 0 && input == nil
      let (taken, given) = try unsafe stages[count - 1].process(
        hasEnded ? nil : pipe.planes.pointers(at: pipe.start), frames: pipe.count,
        into: rest.pointers, room: room - produced)
      pipe.start += taken
      pipe.count -= taken
      produced += given
      rest.advance(given)
      if taken == 0 && given == 0 { break }
    }
    return produced
  }

  /// Returns the buffer before the last of the first `count` stages; nil if that stage takes the
  /// stream itself.
  private func pipe(before count: Int) -> Pipe? {
    let index = count - 1 - (stages.count - pipes.count)
    return index >= 0 ? pipes[index] : nil
  }
}

/// A buffer between two resamplers.
private final class Pipe {
  var start = 0
  var count = 0
  let planes: Planes

  init(channels: Int) { planes = Planes(channels: channels, capacity: 2048) }
}
