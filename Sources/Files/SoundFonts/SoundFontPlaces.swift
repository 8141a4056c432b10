// The plugin soundfont.lv2 compiles this file, too.
#if hasFeature(Embedded)
  import CSoundFont
#else
  import Glibc
#endif

/// Returns the path of the default SoundFont: that of `CUEJACK_SOUNDFONT`, or the first one that the
/// distribution has. Nil if there is none. The memory is the environment's, or constant.
func findSoundFont() -> UnsafePointer<CChar>? {
  let variable: StaticString = "CUEJACK_SOUNDFONT"
  if let named = unsafe getenv(variable.cString), unsafe named.pointee != 0 {
    return unsafe UnsafePointer(named)
  }
  var i = 0
  while let place = soundFontPlace(i) {
    if unsafe access(place.cString, R_OK) == 0 { return unsafe place.cString }
    i += 1
  }
  return nil
}

/// The places where distributions put a General MIDI bank: Debian's first, then those of Fedora and Arch.
private func soundFontPlace(_ number: Int) -> StaticString? {
  switch number {
  case 0: "/usr/share/sounds/sf2/default-GM.sf2"
  case 1: "/usr/share/sounds/sf3/default-GM.sf3"
  case 2: "/usr/share/sounds/sf2/FluidR3_GM.sf2"
  case 3: "/usr/share/sounds/sf2/TimGM6mb.sf2"
  case 4: "/usr/share/sounds/sf3/MuseScore_General.sf3"
  case 5: "/usr/share/sounds/sf3/FluidR3Mono_GM.sf3"
  case 6: "/usr/share/soundfonts/default.sf2"
  case 7: "/usr/share/soundfonts/FluidR3_GM.sf2"
  case 8: "/usr/share/soundfonts/FluidR3_GM.sf3"
  default: nil
  }
}
