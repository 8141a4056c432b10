import CPluginRunner
import CRealTime
import Foundation

/// Memory shared with a plugin's process, with arbitrary content: the URID table and the buffers of a
/// cycle. Each buffer is a separate allocation, so that a sanitizer detects overruns.
struct SharedMemory: Subject {
  /// Returns an empty input: the case number determines everything.
  func input(_ dice: inout Dice) -> Corpus.File { Corpus.File(name: "memory", bytes: []) }

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    if dice.once(in: 2) { try mapURIs(&dice) } else { runCycles(&dice) }
  }

  /// Zeroed allocations, freed with this object.
  private final class Memory {
    private var pieces: [UnsafeMutableRawPointer] = []
    deinit { pieces.forEach { free($0) } }
    func zeros<Element>(_ count: Int, of type: Element.Type) -> UnsafeMutablePointer<Element> {
      let piece = calloc(max(1, count), MemoryLayout<Element>.stride)!
      pieces.append(piece)
      return piece.assumingMemoryBound(to: type)
    }
  }

  /// Returns a number that is critical for offsets and counts, possibly close to `honest`.
  private func odd(_ honest: UInt64, _ dice: inout Dice) -> UInt64 {
    let numbers = [
      0, 1, honest &- 1, honest &+ 1, honest &+ 8, honest &- 64, 1 << 31, 1 << 32, .max, .max - 1,
      .max >> 1, 1 << 63, dice.next(), UInt64(dice.roll(5000)), honest &+ UInt64(dice.roll(5000)),
    ]
    return numbers[dice.roll(numbers.count)]
  }

  // MARK: URIDs

  private func mapURIs(_ dice: inout Dice) throws {
    let memory = Memory()
    let (capacity, bytes) = (32, 1024)
    var urids = cue_urids(
      slots: memory.zeros(capacity, of: UInt32.self), capacity: UInt32(capacity),
      text: memory.zeros(bytes, of: CChar.self), text_bytes: UInt32(bytes),
      text_used: memory.zeros(1, of: UInt64.self),
      own_slots: memory.zeros(capacity, of: UInt32.self),
      own_text: memory.zeros(bytes, of: CChar.self), own_text_used: 0)
    var known: [String: UInt32] = [:]
    for _ in 0..<200 {
      switch dice.roll(8) {
      case 0, 1, 2:
        let uri =
          dice.once(in: 20)
          ? String(repeating: "x", count: dice.roll(10_000)) : "urn:\(dice.roll(60))"
        let number = cue_urids_map(&urids, uri)
        if number == 0 { continue }
        guard known[uri] ?? number == number,
          cue_urids_unmap(&urids, number).map({
            strcmp($0, uri) == 0
          }) == true
        else { throw FuzzError("“\(uri)” has another number than before") }
        known[uri] = number
      case 3:
        if let uri = cue_urids_unmap(&urids, UInt32(dice.roll(capacity + 3))) { _ = strlen(uri) }
      case 4: urids.slots[dice.roll(capacity)] = UInt32(truncatingIfNeeded: odd(1024, &dice))
      case 5: urids.text[dice.roll(bytes)] = CChar(truncatingIfNeeded: dice.next())
      case 6: urids.text_used.pointee = odd(1024, &dice)
      default:
        let first = dice.roll(bytes)
        memset(urids.text + first, dice.once(in: 3) ? 0 : 0x41, dice.roll(bytes - first))
      }
    }
    for (uri, number) in known where cue_urids_map(&urids, uri) != number {
      throw FuzzError("“\(uri)” has another number in the end")
    }
  }

  // MARK: Cycles

  private func runCycles(_ dice: inout Dice) {
    let memory = Memory()
    var shape = cue_shared_shape(
      inputs: UInt32(dice.roll(3)), outputs: UInt32(dice.roll(3)),
      event_inputs: UInt32(dice.roll(2)), event_outputs: UInt32(dice.roll(3)),
      readouts: UInt32(dice.roll(3)), maximum_frames: UInt32(1 + dice.roll(64)),
      event_bytes: UInt32(64 + 8 * dice.roll(60)))
    let bytes = cue_shared_bytes(&shape)
    let shared = memory.zeros(bytes, of: UInt8.self)
    let head = memory.zeros(1, of: cue_shared_head.self)
    let node = memory.zeros(1, of: cue_isolated.self)
    cue_shared_find(&node.pointee.shared, &shape, head, shared)
    var dry = 64
    while dry < 4 * Int(shape.maximum_frames) { dry *= 2 }
    node.pointee.dry = memory.zeros(dry * Int(shape.inputs), of: Float.self)
    node.pointee.dry_frames = UInt32(dry)
    node.pointee.last = memory.zeros(Int(shape.outputs), of: Float.self)
    node.pointee.offsets = memory.zeros(Int(shape.outputs), of: Float.self)
    node.pointee.fade_frames = UInt32(1 + dice.roll(100))
    node.pointee.capacities = memory.zeros(Int(shape.event_outputs), of: UInt32.self)
    node.pointee.event = UnsafeMutableRawPointer(
      memory.zeros(Int(shape.event_bytes), of: UInt8.self))
    node.pointee.urid_sequence = 5
    node.pointee.latency_readout = shape.readouts > 0 ? 0 : -1
    cue_isolated_reset(node)
    for _ in 0..<60 {
      for _ in 0..<dice.roll(6) { damage(node, shared, bytes, &dice) }
      cycle(node, shape, &dice)
    }
  }

  /// Writes what a plugin's process may write, sometimes correct.
  private func damage(
    _ node: UnsafeMutablePointer<cue_isolated>, _ memory: UnsafeMutablePointer<UInt8>, _ bytes: Int,
    _ dice: inout Dice
  ) {
    let shared = node.pointee.shared
    let head = shared.head!
    switch dice.roll(12) {
    case 0, 1:
      head.pointee.taken = node.pointee.given
      head.pointee.done = node.pointee.position
    case 2: head.pointee.taken = odd(node.pointee.given, &dice)
    case 3: head.pointee.done = Int64(bitPattern: odd(UInt64(node.pointee.position), &dice))
    case 4: head.pointee.told = odd(node.pointee.heard, &dice)
    case 5: head.pointee.given = odd(node.pointee.given, &dice)
    case 6: head.pointee.lost = dice.next()
    case 7:
      head.pointee.is_given.is_awaited = UInt32(truncatingIfNeeded: dice.next())
      head.pointee.is_given.is_posted = UInt32(truncatingIfNeeded: dice.next())
    case 8:
      if shared.shape.readouts > 0 {
        shared.shown[0] = [0, 0x7FC0_0000, 0x7F80_0000, 0xFF80_0000, 0x4B00_0000][dice.roll(5)]
      }
    case 9, 10:
      // An event: its frame, port, type and size, and an unused number.
      let size = UInt64(shared.events_bytes)
      let frame = UInt64(node.pointee.position) &- UInt64(shared.shape.maximum_frames)
      let words = [
        dice.once(in: 3) ? odd(frame, &dice) : frame,
        UInt64(dice.roll(Int(shared.shape.event_outputs) + 1)) | UInt64(dice.roll(9)) << 32,
        dice.once(in: 3) ? odd(UInt64(shared.shape.event_bytes), &dice) : UInt64(dice.roll(100)),
      ]
      for (i, word) in words.enumerated() {
        for byte in 0..<8 {
          let index = (node.pointee.heard &+ UInt64(8 * i + byte)) % size
          shared.events[Int(index)] = CChar(truncatingIfNeeded: word >> (8 * byte))
        }
      }
      head.pointee.told = node.pointee.heard &+ 24 &+ UInt64(dice.roll(16)) * 8
    default:
      let first = dice.roll(bytes)
      for i in first..<min(bytes, first + dice.roll(200)) {
        memory[i] = UInt8(truncatingIfNeeded: dice.next())
      }
    }
  }

  /// Runs one cycle with planes and sequences of exactly the required size.
  private func cycle(
    _ node: UnsafeMutablePointer<cue_isolated>, _ shape: cue_shared_shape, _ dice: inout Dice
  ) {
    let memory = Memory()
    let frames = 1 + dice.roll(Int(shape.maximum_frames) * (dice.once(in: 20) ? 2 : 1))
    let inputs = memory.zeros(Int(shape.inputs), of: UnsafePointer<Float>.self)
    let outputs = memory.zeros(Int(shape.outputs), of: UnsafeMutablePointer<Float>.self)
    for i in 0..<Int(shape.inputs) {
      inputs[i] = UnsafePointer(memory.zeros(frames, of: Float.self))
    }
    for i in 0..<Int(shape.outputs) { outputs[i] = memory.zeros(frames, of: Float.self) }
    func sequence() -> UnsafeMutableRawPointer {
      UnsafeMutableRawPointer(memory.zeros(Int(shape.event_bytes), of: UInt8.self))
    }
    let heard = memory.zeros(Int(shape.event_inputs), of: UnsafeRawPointer.self)
    let told = memory.zeros(Int(shape.event_outputs), of: UnsafeMutableRawPointer.self)
    for i in 0..<Int(shape.event_inputs) {
      let events = sequence()
      cue_rt_clear_events(events, 5)
      let note: [UInt8] = [0x90, 60, 100]
      for _ in 0..<dice.roll(4) {
        _ = cue_rt_add_event(events, shape.event_bytes, Int64(dice.roll(frames)), 7, 3, note)
      }
      heard[i] = UnsafeRawPointer(events)
    }
    for i in 0..<Int(shape.event_outputs) {
      told[i] = sequence()
      cue_rt_offer_events(told[i], shape.event_bytes, 6)
    }
    var block = cue_block()
    block.frames = UInt32(frames)
    block.frame = Int64(dice.roll(1 << 40))
    block.inputs = UnsafePointer(inputs)
    block.outputs = UnsafePointer(outputs)
    block.event_inputs = UnsafePointer(heard)
    block.event_outputs = UnsafePointer(told)
    cue_isolated_run(node, &block)
    for i in 0..<Int(shape.event_outputs) {
      precondition(cue_rt_is_sequence(told[i], shape.event_bytes, 5), "an output is no sequence")
      var next = cue_rt_first_event()
      while let event = cue_rt_event_at(told[i], next) {
        precondition((0..<Int64(frames)).contains(event.pointee.time.frames), "an event is outside")
        next = cue_rt_event_after(event, next)
      }
    }
  }
}
