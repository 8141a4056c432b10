public import CAudioToolbox
import Music

// The functions of MusicPlayer.h for players. The header documents each function.

private let players = HandleTable<SequencePlayer>()

/// Runs the body of a C function with a player.
private func withPlayer(
  _ reference: MusicPlayer?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (SequencePlayer) throws(MusicFailure) -> Void
) -> OSStatus {
  answer(function) { () throws(MusicFailure) in
    guard let player = players.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such player")
    }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body(player)
  }
}

/// Makes a player.
@c @implementation
public func NewMusicPlayer(_ outPlayer: UnsafeMutablePointer<MusicPlayer?>) -> OSStatus {
  answer("NewMusicPlayer") { () throws(MusicFailure) in
    try unsafe putHandle(in: outPlayer, of: players) { () throws(MusicFailure) in SequencePlayer() }
  }
}

/// Disposes of a player.
@c @implementation
public func DisposeMusicPlayer(_ inPlayer: MusicPlayer) -> OSStatus {
  unsafe withPlayer(inPlayer, "DisposeMusicPlayer") { player in
    players.remove(UInt(bitPattern: inPlayer))
    player.end()
  }
}

/// Sets the sequence.
@c @implementation
public func MusicPlayerSetSequence(_ inPlayer: MusicPlayer, _ inSequence: MusicSequence?)
  -> OSStatus
{
  unsafe withPlayer(inPlayer, "MusicPlayerSetSequence") { player throws(MusicFailure) in
    let sequence =
      unsafe inSequence == nil ? nil : try unsafe SequenceHandle.find(inSequence).sequence
    try onMusic { () throws(MusicError) in try player.setSequence(sequence) }
  }
}

/// Returns the sequence.
@c @implementation
public func MusicPlayerGetSequence(
  _ inPlayer: MusicPlayer, _ outSequence: UnsafeMutablePointer<MusicSequence?>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerGetSequence", needs: outSequence) {
    player throws(MusicFailure) in
    guard let sequence = player.sequence,
      let known = SequenceHandle.all.entries.first(where: { $0.object.sequence === sequence })
    else { throw .music(.noSequence) }
    unsafe outSequence.pointee = MusicSequence(bitPattern: known.handle)
  }
}

// MARK: Time

/// Goes to a beat.
@c @implementation
public func MusicPlayerSetTime(_ inPlayer: MusicPlayer, _ inTime: MusicTimeStamp) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerSetTime") { player throws(MusicFailure) in
    try onMusic { () throws(MusicError) in try player.setBeat(inTime) }
  }
}

/// Returns the beat.
@c @implementation
public func MusicPlayerGetTime(
  _ inPlayer: MusicPlayer, _ outTime: UnsafeMutablePointer<MusicTimeStamp>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerGetTime", needs: outTime) { player in
    unsafe outTime.pointee = player.beat
  }
}

/// Returns the host time of a beat.
@c @implementation
public func MusicPlayerGetHostTimeForBeats(
  _ inPlayer: MusicPlayer, _ inBeats: MusicTimeStamp, _ outHostTime: UnsafeMutablePointer<UInt64>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerGetHostTimeForBeats", needs: outHostTime) {
    player throws(MusicFailure) in
    unsafe outHostTime.pointee = try onMusic { () throws(MusicError) in
      try player.hostTime(ofBeat: inBeats)
    }
  }
}

/// Returns the beat of a host time.
@c @implementation
public func MusicPlayerGetBeatsForHostTime(
  _ inPlayer: MusicPlayer, _ inHostTime: UInt64, _ outBeats: UnsafeMutablePointer<MusicTimeStamp>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerGetBeatsForHostTime", needs: outBeats) {
    player throws(MusicFailure) in
    unsafe outBeats.pointee = try onMusic { () throws(MusicError) in
      try player.beat(atHostTime: inHostTime)
    }
  }
}

/// Sets the rate.
@c @implementation
public func MusicPlayerSetPlayRateScalar(_ inPlayer: MusicPlayer, _ inScaleRate: Float64)
  -> OSStatus
{
  unsafe withPlayer(inPlayer, "MusicPlayerSetPlayRateScalar") { player throws(MusicFailure) in
    try onMusic { () throws(MusicError) in try player.setRate(inScaleRate) }
  }
}

/// Returns the rate.
@c @implementation
public func MusicPlayerGetPlayRateScalar(
  _ inPlayer: MusicPlayer, _ outScaleRate: UnsafeMutablePointer<Float64>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerGetPlayRateScalar", needs: outScaleRate) { player in
    unsafe outScaleRate.pointee = player.rate
  }
}

// MARK: Playing

/// Gives a sequence without a graph one of the library's own.
private func makeGraph(for player: SequencePlayer) throws(MusicFailure) {
  guard let sequence = player.sequence,
    let known = SequenceHandle.all.entries.first(where: { $0.object.sequence === sequence })
  else { return }
  try known.object.makeGraphIfNeeded()
}

/// Prepares what plays.
@c @implementation
public func MusicPlayerPreroll(_ inPlayer: MusicPlayer) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerPreroll") { player throws(MusicFailure) in
    try makeGraph(for: player)
    try onMusic { () throws(MusicError) in try player.prepare() }
  }
}

/// Starts the player.
@c @implementation
public func MusicPlayerStart(_ inPlayer: MusicPlayer) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerStart") { player throws(MusicFailure) in
    if !player.isPlaying { try makeGraph(for: player) }
    try onMusic { () throws(MusicError) in try player.start() }
  }
}

/// Stops the player.
@c @implementation
public func MusicPlayerStop(_ inPlayer: MusicPlayer) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerStop") { player in player.stop() }
}

/// Tells whether the player plays.
@c @implementation
public func MusicPlayerIsPlaying(
  _ inPlayer: MusicPlayer, _ outIsPlaying: UnsafeMutablePointer<Bool>
) -> OSStatus {
  unsafe withPlayer(inPlayer, "MusicPlayerIsPlaying", needs: outIsPlaying) { player in
    unsafe outIsPlaying.pointee = player.isPlaying
  }
}
