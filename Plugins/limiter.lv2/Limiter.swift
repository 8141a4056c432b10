import CPlugin

/// A peak limiter with 5 ms look-ahead. No output sample exceeds the ceiling.
///
/// Each frame of the look-ahead needs a gain. The limiter holds the least of them until its frame has
/// left, and lets it rise by the release. It multiplies the signal by the moving average of these
/// values over the attack. Each value averaged for a frame is at most the gain that this frame needs.
///
/// Gains are integers, so the running sum of the average stays exact.
@safe
struct Limiter: Effect, ~Copyable {
  static var layouts: (Layout, Layout) {
    (
      Layout(uri: "urn:cuejack:plugins:limiter", inputs: 2, outputs: 2),
      Layout(uri: "urn:cuejack:plugins:limiter-mono", inputs: 1, outputs: 1)
    )
  }
  static var controlInputs: Int { 5 }

  /// The integer that represents a gain of 1.
  private static var unity: Double { 281_474_976_710_656 }

  private let rate: Double
  /// Latency in frames.
  private let latency: Int
  private let memory: UnsafeMutableRawPointer
  /// The delay lines of the look-ahead: input and amplified input. The oldest frame is at `place`, as
  /// in `held`.
  private let frames: UnsafeMutablePointer<SIMD2<Float>>
  private let amplified: UnsafeMutablePointer<SIMD2<Double>>
  /// The gains of the moving average, and older ones.
  private let held: UnsafeMutablePointer<Int64>
  private var place = 0
  /// The number of gains in the moving average, and their sum.
  private var window = 1
  private var wantedWindow = 1
  private var sum: Int64 = 0
  private var least: SlidingLeast
  /// The held gain after the release.
  private var risen = Self.unity

  private var gain = Ramp(1)
  private var ceiling = 1.0
  /// The release coefficient: the part of the distance to the needed gain that one frame covers.
  private var rise = 1.0
  /// The current gain.
  private var reduction = 1.0

  init?(rate: Double) {
    self.rate = rate
    latency = Int(max(1, (rate * 0.005).rounded()))
    let count = latency + 1
    // The widest type comes first, so that each part is aligned.
    let bytes = count * (16 + 16 + 8 + 8)
    guard let memory = unsafe calloc(1, bytes) else { return nil }
    unsafe self.memory = unsafe memory
    unsafe amplified = unsafe memory.bindMemory(to: SIMD2<Double>.self, capacity: count)
    let slots = unsafe (memory + 16 * count).bindMemory(to: SlidingLeast.Slot.self, capacity: count)
    least = unsafe SlidingLeast(slots: slots, count: count)
    unsafe frames = unsafe (memory + 32 * count).bindMemory(to: SIMD2<Float>.self, capacity: count)
    unsafe held = unsafe (memory + 40 * count).bindMemory(to: Int64.self, capacity: count)
    window = count
    wantedWindow = count
    reset()
  }

  func release() { unsafe free(memory) }

  mutating func reset() {
    for i in 0...latency {
      unsafe frames[i] = .zero
      unsafe amplified[i] = .zero
      unsafe held[i] = Int64(Self.unity)
    }
    least.reset()
    place = 0
    sum = Int64(Self.unity) * Int64(window)
    risen = Self.unity
    reduction = 1
  }

  mutating func update(_ controls: inout Controls, in frames: Int) {
    gain.aim(at: cue_rt_amplitude(controls.value(1, from: -40, to: 40, else: 0)), in: frames)
    // Representable as a sample, so that rounding cannot exceed it. The gains follow it smoothly.
    ceiling = Double(Float(cue_rt_amplitude(controls.value(2, from: -24, to: 0, else: -1))))
    let milliseconds = controls.value(3, from: 1, to: 2000, else: 100)
    rise = 1 - cue_rt_exp(-1000 / (milliseconds * rate))
    let attack = controls.value(4, from: 0.1, to: 5, else: 5)
    wantedWindow = 1 + min(latency, max(1, Int((rate * attack / 1000).rounded())))
    while frames == 0 && window != wantedWindow { changeWindow() }
  }

  /// Returns the place of a number of frames ago.
  private func place(before age: Int) -> Int {
    let index = place - age
    return index < 0 ? index + latency + 1 : index
  }

  /// Brings the moving average nearer to its wanted length, by one gain: so the attack changes without a
  /// click.
  private mutating func changeWindow() {
    if window < wantedWindow {
      window += 1
      sum += unsafe held[place(before: window)]
    } else {
      sum -= unsafe held[place(before: window)]
      window -= 1
    }
  }

  mutating func process(_ block: inout Block) {
    for i in 0..<block.count {
      if window != wantedWindow { changeWindow() }
      unsafe frames[place] = block.frames[i]
      // A value that is not a number would silence the limiter for good.
      let sound = settled(block.wet[i]) * gain.next()
      unsafe amplified[place] = sound
      let peak = max(abs(sound.x), abs(sound.y))
      let needed = peak > ceiling ? Self.unity * (ceiling / peak) : Self.unity
      let wanted = Double(least.push(Int64(needed)))
      // Close to the target, jump to it.
      risen = wanted - risen < 1e6 ? wanted : risen + (wanted - risen) * rise
      let gain = Int64(risen)
      sum = unsafe sum - held[place(before: window)] + gain
      unsafe held[place] = gain
      place = place == latency ? 0 : place + 1
      reduction = Double(sum) / (Self.unity * Double(window))
      // The oldest frame, which arrived `latency` frames ago.
      block.frames[i] = unsafe frames[place]
      block.wet[i] = unsafe amplified[place] * reduction
    }
  }

  mutating func settle() {}

  mutating func report(_ controls: inout Controls) {
    controls.write(20 * cue_rt_log10(reduction), to: 5)
    controls.write(Double(latency), to: 6)
  }
}

/// The minimum of the last `count` numbers.
@safe
struct SlidingLeast: ~Copyable {
  struct Slot {
    var value: Int64
    var number: Int
  }
  /// The candidates for the minimum in ascending order.
  private let slots: UnsafeMutablePointer<Slot>
  private let count: Int
  private var first = 0
  private var used = 0
  private var pushed = 0

  init(slots: UnsafeMutablePointer<Slot>, count: Int) {
    unsafe self.slots = unsafe slots
    self.count = count
  }

  mutating func reset() {
    first = 0
    used = 0
    pushed = 0
  }

  private func place(_ index: Int) -> Int {
    let place = first + index
    return place < count ? place : place - count
  }

  mutating func push(_ value: Int64) -> Int64 {
    while used > 0, unsafe slots[place(used - 1)].value >= value { used -= 1 }
    if used > 0, unsafe slots[first].number <= pushed - count {
      first = place(1)
      used -= 1
    }
    unsafe slots[place(used)] = Slot(value: value, number: pushed)
    used += 1
    pushed += 1
    return unsafe slots[first].value
  }
}

typealias Bundle = Limiter
