import AudioUnits
import CAudioToolbox

// The properties of mixers.

extension UnitProperty {
  /// The entry of a property of mixers; nil if it is none, or the unit has none.
  func mixerEntry() throws(AudioUnitError) -> Entry? {
    let unit = unit
    switch id {
    case kAudioUnitProperty_MeteringMode:
      guard unit is MixerUnit || unit is MatrixUnit else { return nil }
      let (side, bus) = (try side(), Int(element))
      guard let isOn = unit.isMetering(side, bus: bus) else {
        throw .unit(.invalidElement(element))
      }
      return .flag(isOn).setting(unit.setMetering(try input.flag(), side, bus: bus))
    case kAudioUnitProperty_MatrixLevels:
      return (unit as? MatrixUnit).map { .copied(CopiedValue(array: $0.levels.flatMap { $0 })) }
    case kAudioUnitProperty_MatrixDimensions:
      return ((unit as? MatrixUnit)?.dimensions).map {
        .copied(CopiedValue(array: [UInt32($0.inputs), UInt32($0.outputs)]))
      }
    case kAudioUnitProperty_3DMixerDistanceParams:
      guard let mixer = unit as? MixerUnit, let range = mixer.distance(ofBus: Int(element)) else {
        return nil
      }
      guard element < mixer.busCount(.input) else { throw .unit(.invalidElement(element)) }
      return .value(
        MixerDistanceParams(
          mReferenceDistance: range.reference, mMaxDistance: range.most,
          mMaxAttenuation: range.attenuation)
      ).setting(try setDistance(input.value(), mixer))
    case kAudioUnitProperty_SupportedChannelLayoutTags:
      guard unit is MixerUnit || unit is MatrixUnit else { return nil }
      let side = try side()
      _ = try onUnit(unit.bus(side, element))
      return .copied(CopiedValue(array: layoutTags(side)))
    default: return nil
    }
  }

  /// The layouts whose channels a mixer treats as what they are; the last one stands for any number of
  /// channels in their order.
  private func layoutTags(_ side: Unit.Side) -> [AudioChannelLayoutTag] {
    if (unit as? MixerUnit)?.isStereo == true {
      return side == .output
        ? [kAudioChannelLayoutTag_Stereo]
        : [kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo]
    }
    return [
      kAudioChannelLayoutTag_Mono, kAudioChannelLayoutTag_Stereo,
      kAudioChannelLayoutTag_DiscreteInOrder,
    ]
  }

  private func setDistance(_ wanted: MixerDistanceParams, _ mixer: MixerUnit)
    throws(AudioUnitError)
  {
    let values = [wanted.mReferenceDistance, wanted.mMaxDistance, wanted.mMaxAttenuation]
    guard values.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
      throw .unit(.invalidValue("distances and attenuations are 0 or more, not \(values)"))
    }
    mixer.setDistance(
      DistanceRange(
        reference: wanted.mReferenceDistance, most: wanted.mMaxDistance,
        attenuation: wanted.mMaxAttenuation), ofBus: Int(element))
  }
}
