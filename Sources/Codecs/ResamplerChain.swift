/// Resamplers one behind another, used as one. Not real time; one thread at a time.
///
/// When the rate that is asked for changes in the middle of a stream, another resampler behind those
/// that there are takes up what they give out, and nothing that they hold back is lost. A stream that
/// begins anew needs one again, or none if the rates are the same.
@safe
package final class ResamplerChain {
  private let inputRate: Double
  private let outputRate: Double
  private let channels: Int
  private var stages: [Resampler]
  /// What stands before each stage but the first.
  private var pipes: [Pipe] = []

  /// Nil if there is no converting between these rates.
  package init?(from inputRate: Double, to outputRate: Double, channels: Int) {
    guard
      let stages = Self.stages(from: inputRate, to: outputRate, channels: channels)
    else { return nil }
    self.inputRate = inputRate
    self.outputRate = outputRate
    self.channels = channels
    self.stages = stages
  }

  /// A chain that takes the place of `chain` in the middle of its stream, and gives it out at
  /// `outputRate`. Nil if there is no converting between these rates.
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
    // Even the first stage has something before it if nothing was converted so far.
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

  /// Takes frames in and gives frames out, as `Resampler` does.
  package func process(
    _ input: Planes.Pointers?, frames inputFrames: Int, into output: Planes.Pointers, room: Int
  ) throws(Resampler.Failure) -> (consumed: Int, produced: Int) {
    let source = unsafe input.map { unsafe Planes.Advancing($0, channels: channels) }
    var left = inputFrames
    let produced = try unsafe run(stages.count, source, &left, into: output, room)
    return (inputFrames - left, produced)
  }

  /// Takes frames in behind all resamplers but the last: frames that the others gave out before it was
  /// there. With nil for `input` the last one gives out all that it holds back.
  package func processLast(
    _ input: Planes.Pointers?, frames inputFrames: Int, into output: Planes.Pointers, room: Int
  ) throws(Resampler.Failure) -> (consumed: Int, produced: Int) {
    guard let last = stages.last else { return (inputFrames, 0) }
    return try unsafe last.process(input, frames: inputFrames, into: output, room: room)
  }

  /// Forgets the stream: the next frame that goes in is a first one.
  package func reset() {
    if isContinued, let fresh = Self.stages(from: inputRate, to: outputRate, channels: channels) {
      stages = fresh
      pipes = []
    }
    for stage in stages { stage.reset() }
  }

  /// Has the last resampler forget its stream.
  package func resetLast() { stages.last?.reset() }

  /// Runs the first `count` stages. `input` is nil when the stream has ended, else it has `left` frames.
  ///
  /// - Returns: Frames given.
  private func run(
    _ count: Int, _ input: Planes.Advancing?, _ left: inout Int, into output: Planes.Pointers,
    _ room: Int
  ) throws(Resampler.Failure) -> Int {
    guard let pipe = pipe(before: count) else {
      if input != nil && left == 0 { return 0 }
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
      if pipe.count == 0, input != nil { break }
      let (taken, given) = try unsafe stages[count - 1].process(
        pipe.count == 0 ? nil : pipe.planes.pointers(at: pipe.start), frames: pipe.count,
        into: rest.pointers, room: room - produced)
      pipe.start += taken
      pipe.count -= taken
      produced += given
      rest.advance(given)
      if taken == 0 && given == 0 { break }
    }
    return produced
  }

  /// What stands before the last of the first `count` stages; nil if that is the stream itself.
  private func pipe(before count: Int) -> Pipe? {
    let index = count - 1 - (stages.count - pipes.count)
    return index >= 0 ? pipes[index] : nil
  }
}

/// Frames between two resamplers.
private final class Pipe {
  var start = 0
  var count = 0
  let planes: Planes

  init(channels: Int) { planes = Planes(channels: channels, capacity: 2048) }
}
