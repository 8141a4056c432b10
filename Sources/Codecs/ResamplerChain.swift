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

  /// Takes frames in and gives frames out, as `Resampler` does.
  package func process(
    _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames inputFrames: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>>, room: Int
  ) -> (consumed: Int, produced: Int) {
    var consumed = 0
    let produced = unsafe run(stages.count, input, inputFrames, &consumed, into: output, room)
    return (consumed, produced)
  }

  /// Takes frames in behind all resamplers but the last: frames that the others gave out before it was
  /// there. With nil for `input` the last one gives out all that it holds back.
  package func processLast(
    _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, frames inputFrames: Int,
    into output: UnsafePointer<UnsafeMutablePointer<Float>>, room: Int
  ) -> (consumed: Int, produced: Int) {
    guard let last = stages.last else { return (inputFrames, 0) }
    return unsafe last.process(input, frames: inputFrames, into: output, room: room)
  }

  /// Forgets the stream: the next frame that goes in is a first one.
  package func reset() {
    if stages.count > 1 || !pipes.isEmpty,
      let fresh = Self.stages(from: inputRate, to: outputRate, channels: channels)
    {
      stages = fresh
      pipes = []
    }
    for stage in stages { stage.reset() }
  }

  /// Frames that would come out of the last resampler if the stream ended now.
  package var heldFrames: Int { stages.last?.heldFrames ?? 0 }

  /// Has the last resampler forget its stream.
  package func resetLast() { stages.last?.reset() }

  /// Runs the first `count` stages.
  ///
  /// - Returns: Frames given.
  private func run(
    _ count: Int, _ input: UnsafePointer<UnsafeMutablePointer<Float>>?, _ inputFrames: Int,
    _ consumed: inout Int, into output: UnsafePointer<UnsafeMutablePointer<Float>>, _ room: Int
  ) -> Int {
    let pipe = pipe(before: count)
    guard let pipe else {
      let frames = inputFrames - consumed
      guard let input = unsafe input else {
        return count == 0 ? 0 : unsafe stages[0].process(nil, frames: 0, into: output, room: room).1
      }
      if frames == 0 { return 0 }
      return unsafe withPlanes(input, at: consumed) { input in
        if count == 0 {
          let copied = min(frames, room)
          for channel in 0..<channels {
            unsafe output[channel].update(from: input[channel], count: copied)
          }
          consumed += copied
          return copied
        }
        let (taken, given) = unsafe stages[0].process(
          input, frames: frames, into: output, room: room)
        consumed += taken
        return given
      }
    }
    var produced = 0
    while produced < room {
      if pipe.count == 0 {
        pipe.start = 0
        pipe.count = unsafe run(
          count - 1, input, inputFrames, &consumed, into: pipe.planes, Pipe.capacity)
      }
      if pipe.count == 0, unsafe input != nil { break }
      let (taken, given) = unsafe withPlanes(pipe.planes, at: pipe.start) { frames in
        unsafe withPlanes(output, at: produced) { output in
          unsafe stages[count - 1].process(
            pipe.count == 0 ? nil : frames, frames: pipe.count, into: output,
            room: room - produced)
        }
      }
      pipe.start += taken
      pipe.count -= taken
      produced += given
      if taken == 0 && given == 0 { break }
    }
    return produced
  }

  /// What stands before the last of the first `count` stages; nil if that is the stream itself.
  private func pipe(before count: Int) -> Pipe? {
    let index = count - 1 - (stages.count - pipes.count)
    return index >= 0 ? pipes[index] : nil
  }

  /// Runs `body` with the planes from frame `frame` on.
  private func withPlanes<R>(
    _ planes: UnsafePointer<UnsafeMutablePointer<Float>>, at frame: Int,
    _ body: (UnsafePointer<UnsafeMutablePointer<Float>>) -> R
  ) -> R {
    unsafe withUnsafeTemporaryAllocation(
      of: UnsafeMutablePointer<Float>.self, capacity: channels
    ) { shifted in
      for channel in 0..<channels {
        unsafe shifted.initializeElement(at: channel, to: planes[channel] + frame)
      }
      return unsafe body(UnsafePointer(shifted.baseAddress!))
    }
  }
}

/// Frames between two resamplers.
@safe
private final class Pipe {
  static var capacity: Int { 2048 }
  var start = 0
  var count = 0
  let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  private let memory: UnsafeMutablePointer<Float>

  init(channels: Int) {
    unsafe memory = .allocate(capacity: channels * Self.capacity)
    unsafe memory.initialize(repeating: 0, count: channels * Self.capacity)
    unsafe planes = .allocate(capacity: channels)
    for channel in 0..<channels {
      unsafe (planes + channel).initialize(to: memory + channel * Self.capacity)
    }
  }

  deinit {
    unsafe planes.deallocate()
    unsafe memory.deallocate()
  }
}
