import RealTime

/// Converts a stream of sound into another format: decodes it, picks or mixes its channels, converts
/// its rate, and stores or encodes it. Not real time; one thread at a time.
///
/// Linear PCM stays exact where the formats allow it. Between equal rates integers of up to 32 bits
/// and floats of 64 bits go through numbers that hold them; a narrower integer is the nearest one (of
/// two that are as near the even one), clipped at full scale. Everything else goes through floats of
/// 32 bits, which hold integers of up to 24. A stream of n frames at another rate has n times the
/// ratio of the rates, rounded, and its first frame is aligned with the first that went in.
@safe
package final class StreamConverter {
  /// What a converter of rates takes for the frames before the stream.
  package enum Priming: Sendable {
    /// The stream's own first `leadingFrames` frames, which do not come out.
    case leading
    /// Silence.
    case silence
    /// Silence, of which `trailingFrames` frames come out as the latency.
    case latency
  }

  package struct Options: Equatable, Sendable {
    /// Nil: the first channels to the first ones.
    package var mix: ChannelMix?
    package var quality = Resampler.Quality(.best)
    package var priming = Priming.silence
    /// Of packets: frames that are cut off the start of what they decode to. Of linear PCM: see
    /// `priming`. Frames of the input.
    package var leadingFrames = 0
    /// The same for the end.
    package var trailingFrames = 0

    package init() {}
  }

  /// Why there is no converting, or why it came to an end.
  package enum Failure: Error, Hashable, Sendable {
    case unsupported(String)
    case inputRate(Double)
    case outputRate(Double)
    /// The channel map does not fit the channels.
    case channels
    /// The next packet is larger than the memory for it.
    case packetTooLarge(bytes: Int)
    case resampling(String)
  }

  package let input: StreamFormat
  package let output: StreamFormat
  package let options: Options

  /// The most frames at a time.
  private static let most = 2048

  private var mixer: ChannelMixer
  private var mix: ChannelMix
  private let resampler: Resampler?
  /// Frames of the input on their way to the mixer, and of the output on theirs to memory.
  private let planes: Planes
  private let outward: Planes
  /// One channel of numbers that floats do not hold; nil if there is no need for it.
  private let wide: UnsafeMutableBufferPointer<Double>?
  /// Frames of the output that wait.
  private let pending: PlaneQueue

  /// Frames that went to the mixer, and that came from behind it, since the stream began.
  private var framesIn = 0
  private var framesOut = 0
  /// Frames of the output that are still to be dropped.
  private var skipped = 0
  private var hasBegun = false
  /// The input has ended, and everything that was held back is pending.
  private var hasEnded = false

  package init(from input: StreamFormat, to output: StreamFormat, _ options: Options = Options())
    throws(Failure)
  {
    guard case .pcm(let from) = input, case .pcm(let to) = output else {
      throw .unsupported("there is no codec")
    }
    guard from.layout != nil else { throw .unsupported("the input's samples are of no known kind") }
    guard to.layout != nil else { throw .unsupported("the output's samples are of no known kind") }
    let mix = options.mix ?? .first(of: input.channels, to: output.channels)
    guard mix.fits(input: input.channels, output: output.channels) else { throw .channels }
    if input.sampleRate == output.sampleRate {
      resampler = nil
    } else {
      resampler = Resampler(
        from: input.sampleRate, to: output.sampleRate, channels: output.channels,
        quality: options.quality)
      guard resampler != nil else { throw .outputRate(output.sampleRate) }
    }
    self.input = input
    self.output = output
    self.options = options
    self.mix = mix
    mixer = ChannelMixer(mix, outputs: output.channels, most: Self.most)
    planes = Planes(channels: input.channels, capacity: Self.most)
    outward = Planes(channels: output.channels, capacity: Self.most)
    pending = PlaneQueue(channels: output.channels)
    let isWide = from.isWide && !(to.kind == .float && !to.isWide)
    unsafe wide = isWide ? .allocate(capacity: Self.most) : nil
  }

  deinit { unsafe wide?.deallocate() }

  /// True if frames go in and out one by one, and nothing is held back: both are linear PCM of one
  /// rate.
  package var isImmediate: Bool {
    if case .pcm = input, case .pcm = output { return resampler == nil }
    return false
  }

  /// Has channels go elsewhere from the next frame on. False if there are not as many.
  package func setMix(_ mix: ChannelMix) -> Bool {
    guard mix.fits(input: input.channels, output: output.channels) else { return false }
    self.mix = mix
    mixer = ChannelMixer(mix, outputs: output.channels, most: Self.most)
    return true
  }

  /// Forgets the stream: what comes next is the start of another.
  package func reset() {
    resampler?.reset()
    pending.removeAll()
    framesIn = 0
    framesOut = 0
    skipped = 0
    hasBegun = false
    hasEnded = false
  }

  // MARK: Converting

  /// Converts until the input is used up or the output is full.
  ///
  /// What the input's end was followed by is ignored until `reset`.
  package func convert(_ source: inout Source, into sink: inout Sink) throws(Failure) {
    if isImmediate { return convertAtOnce(&source, into: &sink) }
    begin()
    while true {
      give(&sink)
      if sink.isFull { return }
      if hasEnded { return source.removeAll() }
      if !source.isEmpty {
        try feed(&source, wanting: sink.room)
      } else if source.isLast {
        try end()
      } else {
        return
      }
    }
  }

  /// Frames or packets of the input that make so many of the output at the least, about.
  package func inputCount(forOutput count: Int) -> Int {
    let frames = Double(count) * input.sampleRate / output.sampleRate
    return max(1, Int(frames.rounded(.up)))
  }

  /// Frames or packets of the output that so many of the input make at the most.
  package func outputCount(forInput count: Int) -> Int {
    framesOfOutput(count) + (isImmediate ? 0 : 1)
  }

  private func convertAtOnce(_ source: inout Source, into sink: inout Sink) {
    guard case .frames(let from) = source.content, case .frames(let to) = sink.content else {
      return
    }
    while !source.isEmpty && !sink.isFull {
      let frames = min(source.left, sink.room, Self.most)
      if let numbers = unsafe wide?.baseAddress, case .map(let map) = mix {
        for (channel, origin) in map.enumerated() {
          if let origin {
            unsafe from.read(
              channel: origin, from: source.next, frames: frames, into: numbers)
          } else {
            unsafe numbers.update(repeating: 0, count: frames)
          }
          unsafe to.write(channel: channel, numbers, frames: frames, at: sink.count)
        }
      } else {
        unsafe from.read(from: source.next, frames: frames, into: planes.pointers())
        unsafe to.write(
          mixer.apply(planes.pointers(), frames: frames), frames: frames, at: sink.count)
      }
      source.take(frames)
      sink.count += frames
    }
  }

  private func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    guard resampler != nil, case .pcm = input else { return }
    if options.priming == .leading { skipped = framesOfOutput(options.leadingFrames) }
    if options.priming == .latency {
      let frames = framesOfOutput(options.trailingFrames)
      let room = unsafe pending.room(for: frames)
      for channel in 0..<output.channels {
        unsafe room[channel].update(repeating: 0, count: frames)
      }
      pending.add(frames)
    }
  }

  private func framesOfOutput(_ frames: Int) -> Int {
    Int((Double(frames) * output.sampleRate / input.sampleRate).rounded())
  }

  /// Gives out what is pending.
  private func give(_ sink: inout Sink) {
    let dropped = min(skipped, pending.count)
    pending.drop(dropped)
    skipped -= dropped
    guard case .frames(let buffers) = sink.content else { return }
    while !sink.isFull {
      let frames = unsafe pending.take(
        into: outward.pointers(), room: min(sink.room, Self.most))
      if frames == 0 { return }
      unsafe buffers.write(outward.pointers(), frames: frames, at: sink.count)
      sink.count += frames
    }
  }

  /// Takes some of the input.
  private func feed(_ source: inout Source, wanting wanted: Int) throws(Failure) {
    guard case .frames(let buffers) = source.content else { return }
    let frames = min(source.left, Self.most, inputCount(forOutput: wanted))
    unsafe buffers.read(from: source.next, frames: frames, into: planes.pointers())
    source.take(frames)
    try unsafe push(planes.pointers(), frames: frames)
  }

  /// Takes in frames of the input's channels and rate.
  private func push(_ frames: Planes.Pointers, frames count: Int) throws(Failure) {
    framesIn += count
    let mixed = unsafe mixer.apply(frames, frames: count)
    guard let resampler else {
      unsafe pending.append(mixed, frames: count)
      framesOut += count
      return
    }
    let rest = unsafe Planes.Advancing(mixed, channels: output.channels)
    var left = count
    while left > 0 {
      let (taken, given) = try unsafe resample(resampler, rest.pointers, left, room: Self.most)
      if taken == 0 && given == 0 { throw .resampling("the resampler takes nothing in") }
      rest.advance(taken)
      left -= taken
    }
  }

  /// Has everything that is held back come out.
  private func end() throws(Failure) {
    hasEnded = true
    guard let resampler else { return }
    // The resampler rounds by itself: this makes it sure.
    let whole = framesOfOutput(framesIn)
    while framesOut < whole {
      let given = try unsafe resample(resampler, nil, 0, room: min(Self.most, whole - framesOut))
        .given
      if given == 0 { break }
    }
    while framesOut < whole {
      let frames = min(Self.most, whole - framesOut)
      outward.silence(from: 0, to: frames)
      unsafe pending.append(outward.pointers(), frames: frames)
      framesOut += frames
    }
  }

  private func resample(
    _ resampler: Resampler, _ input: Planes.Pointers?, _ frames: Int, room: Int
  ) throws(Failure) -> (taken: Int, given: Int) {
    do throws(Resampler.Failure) {
      let (taken, given) = try unsafe resampler.process(
        input, frames: frames, into: pending.room(for: room), room: room)
      pending.add(given)
      framesOut += given
      return (taken, given)
    } catch {
      throw .resampling(error.reason)
    }
  }
}
