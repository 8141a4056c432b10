import AudioQueue
import AudioUnits
public import CAudioToolbox

// The functions of QueueEffects.h. The header documents each function.

/// Reason why a function of QueueEffects.h fails.
enum QueueEffectError: APIFailure {
  case badArgument(String)
  case queue(QueueError)
  case unit(AudioUnitError)
  case effect(EffectError)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .queue(let error): error.status
    case .unit(let error): error.status
    case .effect(.unit(let error)): AudioUnitError.unit(error).status
    case .effect(.server(let error)): QueueError.cannotStart(error).status
    case .effect(.graph): kAudioUnitErr_FailedInitialization
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .queue(let error): error.reason
    case .unit(let error): error.reason
    case .effect(.unit(let error)): error.reason
    case .effect(.server(let error)): "\(error)"
    case .effect(.graph(let error)): "\(error)"
    }
  }
}

/// Runs the body of a C function with a playback queue.
private func withQueue(
  _ reference: AudioQueueRef?, _ function: String,
  _ body: (OutputQueue, UInt) throws(QueueEffectError) -> Void
) -> OSStatus {
  answer(function) { () throws(QueueEffectError) in
    let number = UInt(bitPattern: reference)
    guard let handle = QueueHandle.all.object(number) else {
      throw .badArgument("there is no such queue")
    }
    let queue: OutputQueue
    do throws(QueueError) { queue = try handle.playbackQueue } catch { throw .queue(error) }
    try body(queue, number)
  }
}

private func unit(_ reference: AudioUnit?) throws(QueueEffectError) -> AudioUnits.Unit {
  do throws(AudioUnitError) { return try unsafe UnitHandles.shared.unit(reference).unit } catch {
    throw .unit(error)
  }
}

/// Lets a queue's sound pass units.
@c @implementation
public func CueQueueSetEffects(
  _ inAQ: AudioQueueRef, _ inCount: UInt32, _ inUnits: UnsafePointer<AudioUnit?>?
) -> OSStatus {
  unsafe withQueue(inAQ, "CueQueueSetEffects") { queue, handle throws(QueueEffectError) in
    var units: [AudioUnits.Unit] = []
    for i in 0..<Int(inCount) {
      guard let list = unsafe inUnits else { throw .badArgument("the units are NULL") }
      let next = unsafe try unit(list[i])
      if units.contains(where: { $0 === next }) {
        throw .badArgument("\(next.name) is in the list twice")
      }
      units.append(next)
    }
    try QueueRoutes.shared.setEffects(units, of: queue, handle)
  }
}

/// Copies the units that a queue's sound passes.
@c @implementation
public func CueQueueGetEffects(
  _ inAQ: AudioQueueRef, _ ioCount: UnsafeMutablePointer<UInt32>,
  _ outUnits: UnsafeMutablePointer<AudioUnit?>?
) -> OSStatus {
  if unsafe hasNull([ioCount]) { return kAudio_ParamError }
  return unsafe withQueue(inAQ, "CueQueueGetEffects") { _, handle in
    let units = QueueRoutes.shared.effects(of: handle)
    if let memory = unsafe outUnits {
      for (i, unit) in units.prefix(unsafe Int(ioCount.pointee)).enumerated() {
        unsafe memory[i] = UnitHandles.shared.reference(of: unit)
      }
    }
    unsafe ioCount.pointee = UInt32(units.count)
  }
}

/// Makes a queue an input of a mixer.
@c @implementation
public func CueQueueSetMixer(
  _ inAQ: AudioQueueRef, _ inMixer: AudioUnit?, _ inBus: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "CueQueueSetMixer") { queue, handle throws(QueueEffectError) in
    let mixer = unsafe inMixer == nil ? nil : try unit(inMixer)
    try QueueRoutes.shared.setMixer(mixer, bus: Int(inBus), of: queue, handle)
  }
}
