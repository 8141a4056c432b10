import CFile
import CPlugin
import CSoundFont

/// A synthesizer that plays MIDI with a SoundFont.
///
/// FluidSynth renders blocks of 64 frames. A message takes effect with the next block: up to 63 frames
/// late. While the synthesizer is silent, a note begins a new block, and so begins on its frame.
@safe
struct SoundFont: FilePlugin, ~Copyable {
  static var uri: StaticString { "urn:cuejack:plugins:soundfont" }
  /// FluidSynth's limits.
  static var rates: ClosedRange<Double> { 8000...96_000 }
  /// Ports before the controls: two outputs and two for events.
  static var otherPorts: Int { 4 }
  private static var controlInputs: Int { 20 }
  private static var blockFrames: Int { 64 }
  /// Peak of a block that counts as silence: -140 dB.
  private static var silence: Float { 1e-7 }

  private(set) var file: PluginFile
  private var controls = Controls()
  /// The values that the synthesizer has been given; NaN for none.
  private var applied = InlineArray<20, Double>(repeating: .nan)
  private var outputs = unsafe InlineArray<2, UnsafeMutablePointer<Float>?>(repeating: nil)
  private var events: UnsafePointer<LV2_Atom_Sequence>?

  private var bank: UnsafeMutablePointer<cue_bank>?
  /// Whether the SoundFont of the state was loaded, or could not be.
  private var hasLoaded = false
  /// Whether the bank has the program of the controls.
  private var hasProgram = true
  private var numbers = ParameterNumbers()
  /// Cents by which MIDI's tuning standard moves the keys, those of the first channel first.
  private var tuning = InlineArray<2048, Float>(repeating: 0)

  private var left = InlineArray<64, Float>(repeating: 0)
  private var right = InlineArray<64, Float>(repeating: 0)
  /// Frames of the block that were output.
  private var used = 64
  /// Frames of silence in a row, up to `pause`.
  private var quiet: Int
  /// Frames of silence after which the chorus has nothing more to say.
  private let pause: Int
  /// The factors of both sides.
  private var gains = (Ramp(0), Ramp(0))
  private let fadeFrames: Int
  private var isFresh = true

  init?(
    rate: Double, map: UnsafeMutablePointer<LV2_URID_Map>,
    schedule: UnsafePointer<LV2_Worker_Schedule>?, log: UnsafeMutablePointer<LV2_Log_Log>?
  ) {
    guard
      let file = unsafe PluginFile(
        "urn:cuejack:plugins:soundfont#file", rate: rate, map: map, schedule: schedule, log: log)
    else { return nil }
    self.file = file
    pause = Int(rate / 4)
    quiet = pause
    fadeFrames = Int(max(1, rate * 0.02))
  }

  func release() {
    unsafe cue_unload(bank)
    file.release()
  }

  mutating func connect(_ port: Int, to memory: UnsafeMutableRawPointer?) {
    switch port {
    case 0, 1: unsafe outputs[port] = memory?.assumingMemoryBound(to: Float.self)
    case 2:
      unsafe events = memory.map {
        unsafe UnsafePointer($0.assumingMemoryBound(to: LV2_Atom_Sequence.self))
      }
    case 3: unsafe file.connect(notify: memory)
    case Self.otherPorts..<Self.otherPorts + Controls.capacity:
      unsafe controls.connect(
        port - Self.otherPorts, to: memory?.assumingMemoryBound(to: Float.self))
    default: break
    }
  }

  // MARK: Banks

  /// Loads the SoundFont of the state, if none is loaded, and forgets all notes and programs.
  mutating func activate() {
    if let bank = unsafe bank {
      _ = unsafe cue_rt_system_reset(bank.pointee.synth)
    } else if !hasLoaded {
      load()
    }
    start()
  }

  mutating func restore(_ path: UnsafePointer<CChar>) {
    unsafe cue_mailbox_want(file.mailbox, path)
    unsafe cue_unload(bank)
    unsafe bank = nil
    load()
    start()
  }

  private mutating func load() {
    hasLoaded = true
    unsafe bank = unsafe Self.bank(file.load(else: findSoundFont(), settings))
  }

  private mutating func start() {
    used = Self.blockFrames
    quiet = pause
    isFresh = true
    forget()
    numbers = ParameterNumbers()
    for i in tuning.indices { tuning[i] = 0 }
  }

  /// Lets all controls be given to the synthesizer.
  private mutating func forget() {
    for i in applied.indices { applied[i] = .nan }
  }

  private static func bank(_ content: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<cue_bank>? {
    unsafe content?.assumingMemoryBound(to: cue_bank.self)
  }

  private var polyphony: Int {
    mutating get { Int(controls.value(3, from: 1, to: 1024, else: 256)) }
  }

  private var settings: cue_settings {
    mutating get { cue_settings(first: Float(polyphony), second: 0) }
  }

  /// Puts the worker's bank in the place of the present one once that has faded out.
  private mutating func exchange() {
    guard !gains.0.isMoving, !gains.1.isMoving,
      let incoming = unsafe Self.bank(file.takeIncoming())
    else { return }
    if let old = unsafe bank { unsafe copyChannels(from: old, to: incoming) }
    unsafe file.retire(bank)
    unsafe bank = unsafe incoming
    used = Self.blockFrames
    quiet = pause
    forget()
    update(in: fadeFrames)
  }

  /// Gives a bank the programs and controllers of another one.
  private func copyChannels(
    from old: UnsafeMutablePointer<cue_bank>, to new: UnsafeMutablePointer<cue_bank>
  ) {
    let (from, to) = unsafe (old.pointee.synth, new.pointee.synth)
    for channel in 0..<16 as Range<Int32> {
      var (font, number, program, value) = (Int32(0), Int32(0), Int32(0), Int32(0))
      if unsafe cue_rt_get_program(from, channel, &font, &number, &program) == 0 {
        _ = unsafe cue_rt_program_select(to, channel, new.pointee.font, number, program)
      }
      for controller in 1..<120 as Range<Int32> {
        // Numbers of parameters and their values belong to messages that are over.
        let isPart =
          controller == 6 || controller == 32 || controller == 38 || (96...101).contains(controller)
        if isPart { continue }
        if unsafe cue_rt_get_cc(from, channel, controller, &value) == 0 {
          _ = unsafe cue_rt_cc(to, channel, controller, value)
        }
      }
      if unsafe cue_rt_get_pitch_wheel_sens(from, channel, &value) == 0 {
        _ = unsafe cue_rt_pitch_wheel_sens(to, channel, value)
      }
      if unsafe cue_rt_get_pitch_bend(from, channel, &value) == 0 {
        _ = unsafe cue_rt_pitch_bend(to, channel, value)
      }
    }
  }

  // MARK: Controls

  /// Returns a control's value if the synthesizer does not have it yet.
  private mutating func change(_ i: Int, from least: Double, to most: Double, else usual: Double)
    -> Double?
  {
    let value = controls.value(i, from: least, to: most, else: usual)
    if applied[i] == value { return nil }
    applied[i] = value
    return value
  }

  private mutating func whole(_ i: Int, _ range: ClosedRange<Int>, else usual: Int) -> Int32? {
    change(i, from: Double(range.lowerBound), to: Double(range.upperBound), else: Double(usual))
      .map { Int32($0.rounded()) }
  }

  private mutating func update(in frames: Int) {
    let isEnabled = !file.hasIncoming && controls.isOn(0, else: true)
    let decibels = controls.value(1, from: -80, to: 20, else: -13.9794)
    let gain = isEnabled && decibels > -80 ? cue_rt_amplitude(decibels) : 0
    let pan = controls.value(2, from: -1, to: 1, else: 0)
    gains.0.aim(at: gain * min(1, 1 - pan), in: frames)
    gains.1.aim(at: gain * min(1, 1 + pan), in: frames)
    guard let bank = unsafe bank, let synth = unsafe bank.pointee.synth else { return }
    if let on = whole(4, 0...1, else: 1) { _ = unsafe cue_rt_reverb_on(synth, -1, on) }
    if let size = change(5, from: 0, to: 1, else: 0.2) {
      _ = unsafe cue_rt_set_reverb_group_roomsize(synth, -1, size)
    }
    if let damping = change(6, from: 0, to: 1, else: 0) {
      _ = unsafe cue_rt_set_reverb_group_damp(synth, -1, damping)
    }
    if let width = change(7, from: 0, to: 100, else: 0.5) {
      _ = unsafe cue_rt_set_reverb_group_width(synth, -1, width)
    }
    if let level = change(8, from: 0, to: 1, else: 0.9) {
      _ = unsafe cue_rt_set_reverb_group_level(synth, -1, level)
    }
    if let on = whole(9, 0...1, else: 1) { _ = unsafe cue_rt_chorus_on(synth, -1, on) }
    if let count = whole(10, 0...99, else: 3) {
      _ = unsafe cue_rt_set_chorus_group_nr(synth, -1, count)
    }
    if let level = change(11, from: 0, to: 10, else: 2) {
      _ = unsafe cue_rt_set_chorus_group_level(synth, -1, level)
    }
    if let speed = change(12, from: 0.1, to: 5, else: 0.3) {
      _ = unsafe cue_rt_set_chorus_group_speed(synth, -1, speed)
    }
    if let depth = change(13, from: 0, to: 256, else: 8) {
      _ = unsafe cue_rt_set_chorus_group_depth(synth, -1, depth)
    }
    if let shape = whole(14, 0...1, else: 0) {
      _ = unsafe cue_rt_set_chorus_group_type(synth, -1, shape)
    }
    if let method = whole(15, 0...3, else: 2) {
      let methods: InlineArray<4, Int32> = [0, 1, 4, 7]
      _ = unsafe cue_rt_set_interp_method(synth, -1, methods[Int(method)])
    }
    let (coarse, fine) = (
      change(16, from: -24, to: 24, else: 0), change(17, from: -1200, to: 1200, else: 0)
    )
    if coarse != nil || fine != nil {
      for channel in 0..<16 as Range<Int32> {
        _ = unsafe cue_rt_set_gen(
          synth, channel, Int32(CUE_PITCH_GENERATOR),
          Float(applied[16].rounded() * 100 + applied[17]))
      }
    }
    let (number, program) = (whole(18, 0...16383, else: 0), whole(19, -1...127, else: -1))
    if number != nil || program != nil { unsafe selectProgram(of: bank) }
  }

  /// Whether all channels have the program of the controls.
  private var isFixed: Bool { applied[19] >= 0 }

  private mutating func selectProgram(of bank: UnsafeMutablePointer<cue_bank>) {
    hasProgram = true
    guard isFixed else { return }
    for channel in 0..<16 as Range<Int32> {
      let isThere =
        unsafe cue_rt_program_select(
          bank.pointee.synth, channel, bank.pointee.font, Int32(applied[18]), Int32(applied[19]))
        == 0
      hasProgram = hasProgram && isThere
    }
  }

  // MARK: Cycles

  mutating func run(_ frames: Int) {
    askWorker()
    if controls.read(Self.controlInputs) || isFresh || file.hasIncoming {
      update(in: isFresh ? 0 : fadeFrames)
    }
    if frames > 0 { isFresh = false }
    var isAsked = false
    var done = 0
    if let events = unsafe events {
      var next = unsafe cue_rt_next(events, nil)
      while let event = unsafe next {
        let frame = unsafe min(max(done, Int(event.pointee.time.frames)), frames)
        render(done, frame)
        done = frame
        if unsafe event.pointee.body.type == file.urids.midi {
          unsafe play(cue_rt_bytes(event), Int(event.pointee.body.size))
        } else if let path = unsafe file.path(in: event) {
          unsafe file.request(path, settings)
        } else if unsafe file.asks(event) {
          isAsked = true
        }
        unsafe next = unsafe cue_rt_next(events, event)
      }
    }
    render(done, frames)
    unsafe file.answer(isAsked ? bank.flatMap { unsafe cue_rt_path_of($0) } : nil)
    report()
  }

  /// Lets the worker free the old bank, and load the present one anew if the polyphony has changed.
  private mutating func askWorker() {
    file.askWorker()
    if let bank = unsafe bank, unsafe Int(bank.pointee.polyphony) != polyphony, file.canLoad {
      unsafe file.request(cue_rt_path_of(bank), settings)
    }
  }

  private mutating func report() {
    let isMissing = file.status == Int(CUE_BANK_LOADED.rawValue) && !hasProgram
    controls.write(
      isMissing ? Double(CUE_BANK_NO_PROGRAM.rawValue) : Double(file.status),
      to: Self.controlInputs)
    controls.write(Double(voices), to: Self.controlInputs + 1)
  }

  private var voices: Int32 {
    unsafe bank.map { unsafe cue_rt_get_active_voice_count($0.pointee.synth) } ?? 0
  }

  // MARK: MIDI

  private mutating func play(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    guard let bank = unsafe bank, let synth = unsafe bank.pointee.synth, count > 0 else { return }
    let status = unsafe bytes[0]
    let channel = Int32(status & 0x0F)
    let first = unsafe count > 1 ? Int32(bytes[1] & 0x7F) : 0
    let second = unsafe count > 2 ? Int32(bytes[2] & 0x7F) : 0
    switch status & 0xF0 {
    case 0x80 where count == 3: _ = unsafe cue_rt_noteoff(synth, channel, first)
    case 0x90 where count == 3:
      // A silent synthesizer begins a block with the note.
      if second > 0, quiet >= pause { used = Self.blockFrames }
      _ = unsafe cue_rt_noteon(synth, channel, first, second)
      if second > 0 {
        quiet = 0
        let cents = tuning[Int(channel) * 128 + Int(first)]
        if cents != 0 { unsafe cue_rt_shift(synth, channel, first, cents, true) }
      }
    case 0xA0 where count == 3: _ = unsafe cue_rt_key_pressure(synth, channel, first, second)
    case 0xB0 where count == 3:
      if isFixed, first == 0 || first == 32 { return }
      // FluidSynth allocates the tunings that these parameters choose.
      if numbers.take(Int(channel), first, second) { return }
      _ = unsafe cue_rt_cc(synth, channel, first, second)
    case 0xC0 where count == 2:
      if !isFixed { _ = unsafe cue_rt_program_change(synth, channel, first) }
    case 0xD0 where count == 2: _ = unsafe cue_rt_channel_pressure(synth, channel, first)
    case 0xE0 where count == 3:
      _ = unsafe cue_rt_pitch_bend(synth, channel, second << 7 | first)
    case 0xF0 where status == 0xF0 && count > 2: unsafe playExclusive(bytes, count, bank)
    default: break
    }
  }

  private mutating func playExclusive(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ bank: UnsafeMutablePointer<cue_bank>
  ) {
    // FluidSynth allocates a tuning for each message of MIDI's tuning standard.
    if count > 6, unsafe bytes[1] >= 0x7E && bytes[3] == 0x08 {
      unsafe tune(bytes, count, bank.pointee.synth)
      return
    }
    if count > 4, unsafe bytes[1] == 0x7E && bytes[3] == 0x09 {
      for i in tuning.indices { tuning[i] = 0 }
    }
    let text = unsafe UnsafeRawPointer(bytes + 1).assumingMemoryBound(to: CChar.self)
    _ = unsafe cue_rt_sysex(bank.pointee.synth, text, Int32(count - 2), nil, nil, nil, 0)
    // A reset forgets the program and the tuning of the controls.
    for i in 16...19 { applied[i] = .nan }
    update(in: fadeFrames)
  }

  /// Plays a message of MIDI's tuning standard: single keys and whole scales for all channels, whatever
  /// tuning program they name, and octaves for the channels that they name.
  private mutating func tune(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ synth: OpaquePointer?
  ) {
    switch unsafe bytes[4] {
    case 0x01 where count >= 22 + 3 * 128:
      for key in 0..<128 { unsafe tune(key, bytes + 22 + 3 * key, synth) }
    case 0x02, 0x07:
      // The second one also names a bank.
      var place = unsafe bytes[4] == 0x02 ? 7 : 8
      while place + 4 < count {
        unsafe tune(Int(bytes[place] & 0x7F), bytes + place + 1, synth)
        place += 4
      }
    case 0x08 where count >= 21, 0x09 where count >= 33:
      let isFine = unsafe bytes[4] == 0x09
      let channels =
        unsafe Int(bytes[5] & 3) << 14 | Int(bytes[6] & 0x7F) << 7 | Int(bytes[7] & 0x7F)
      for channel in 0..<16 where channels >> channel & 1 == 1 {
        for key in 0..<128 {
          let place = unsafe bytes + 8 + key % 12 * (isFine ? 2 : 1)
          let cents =
            unsafe isFine
            ? Float(Int(place[0] & 0x7F) << 7 | Int(place[1] & 0x7F)) / 81.92 - 100
            : Float(place[0] & 0x7F) - 64
          unsafe tune(channel, key, cents, synth)
        }
      }
    default: break
    }
  }

  /// Tunes a key of all channels to a semitone and a fraction; 7F 7F 7F leaves it as it is.
  private mutating func tune(_ key: Int, _ pitch: UnsafePointer<UInt8>, _ synth: OpaquePointer?) {
    let (semitone, high, low) = unsafe (pitch[0] & 0x7F, pitch[1] & 0x7F, pitch[2] & 0x7F)
    if semitone & high & low == 0x7F { return }
    let fraction = Float(Int(high) << 7 | Int(low)) / 163.84
    for channel in 0..<16 {
      unsafe tune(channel, key, 100 * Float(Int(semitone) - key) + fraction, synth)
    }
  }

  private mutating func tune(_ channel: Int, _ key: Int, _ cents: Float, _ synth: OpaquePointer?) {
    let step = cents - tuning[channel * 128 + key]
    if step == 0 { return }
    tuning[channel * 128 + key] = cents
    unsafe cue_rt_shift(synth, Int32(channel), Int32(key), step, false)
  }

  // MARK: Sound

  /// Outputs the frames from `first` on, up to `end`.
  private mutating func render(_ first: Int, _ end: Int) {
    var frame = first
    while frame < end {
      if used == Self.blockFrames {
        exchange()
        renderBlock()
      }
      let count = min(Self.blockFrames - used, end - frame)
      if gains.0.isMoving || gains.1.isMoving {
        for i in 0..<count {
          let factors = (Float(gains.0.next()), Float(gains.1.next()))
          unsafe outputs[0]?[frame + i] = left[used + i] * factors.0
          unsafe outputs[1]?[frame + i] = right[used + i] * factors.1
        }
      } else {
        let (place, length) = (Int32(frame), Int32(count))
        unsafe cue_rt_scale(
          &left, Int32(used), Float(gains.0.value), outputs[0], place, length)
        unsafe cue_rt_scale(
          &right, Int32(used), Float(gains.1.value), outputs[1], place, length)
      }
      used += count
      frame += count
    }
  }

  /// Whether the block is no silence.
  private var isLoud: Bool {
    for i in left.indices where max(abs(left[i]), abs(right[i])) > Self.silence { return true }
    return false
  }

  /// Renders the next block; zeros after a pause.
  private mutating func renderBlock() {
    used = 0
    guard let synth = unsafe bank?.pointee.synth, quiet < pause || voices > 0 else {
      for i in left.indices { (left[i], right[i]) = (0, 0) }
      return
    }
    _ = unsafe cue_rt_write_float(synth, 64, &left, 0, 1, &right, 0, 1)
    quiet = voices > 0 || isLoud ? 0 : min(quiet + Self.blockFrames, pause)
  }
}

/// The registered parameters that the channels have chosen.
private struct ParameterNumbers {
  /// The number of each channel; -1 if it is not a registered one.
  private var numbers = InlineArray<16, Int32>(repeating: 0x3FFF)

  /// Notes a controller. Returns true if it sets the program or the bank of tunings.
  mutating func take(_ channel: Int, _ controller: Int32, _ value: Int32) -> Bool {
    switch controller {
    case 98, 99: numbers[channel] = -1
    case 100: numbers[channel] = max(0, numbers[channel]) & 0x3F80 | value
    case 101: numbers[channel] = max(0, numbers[channel]) & 0x7F | value << 7
    case 6, 38, 96, 97: return numbers[channel] == 3 || numbers[channel] == 4
    case 121: numbers[channel] = 0x3FFF
    default: break
    }
    return false
  }
}

typealias Bundle = SoundFont
