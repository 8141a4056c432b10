import Foundation
import Graph
import PluginHost
import TestSupport

/// Bundles of LV2 plugins with one damaged Turtle file. The host reads them, instantiates their
/// plugins, and does everything with these that a host may do. Their library works with any
/// description.
struct Bundles: Subject {
  private let corpus: Corpus
  private let library: String

  init(folder: String) throws {
    corpus = try Corpus(folder: folder, only: ".ttl")
    library = folder + "/any.so"
  }

  static func make(in folder: String) throws {
    for (name, text) in turtle {
      try (prefixes + text).write(
        toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }
    let source = "\(folder)/any.c"
    try code.write(toFile: source, atomically: false, encoding: .utf8)
    let arguments = ["-fPIC", "-shared", "-o", "\(folder)/any.so", source]
    guard try Corpus.execute(SwiftToolchain().clang, arguments) else {
      throw FuzzError("the plugins' library cannot be compiled")
    }
  }

  // MARK: Damage

  func input(_ dice: inout Dice) -> Corpus.File {
    if dice.once(in: 3) { return corpus.damaged(&dice) }
    let file = corpus.files[dice.roll(corpus.files.count)]
    var words = String(decoding: file.bytes, as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    for _ in 0...dice.roll(5) {
      let index = dice.roll(words.count)
      switch dice.roll(6) {
      case 0: words.remove(at: index)
      case 1: words.insert(words[dice.roll(words.count)], at: index)
      case 2: words[index] = words[dice.roll(words.count)]
      case 3: words.insert(Self.odd[dice.roll(Self.odd.count)], at: index)
      default: words[index] = Self.odd[dice.roll(Self.odd.count)]
      }
    }
    return Corpus.File(name: file.name, bytes: Array(words.joined(separator: " ").utf8))
  }

  /// Values that are valid in one place and invalid in another.
  private static let odd = [
    "-1", "0", "1", "3", "70000", "2147483648", "99999999999999999999", "-0.5", "1e300", "-1e300",
    "\"NaN\"^^xsd:double", "\"INF\"^^xsd:double", "\"\"^^xsd:integer", "true", "\"\"", "\"gain\"",
    "\"gain\"@en", "<>", "<gain>", "<fuzz:effect>", "<//>", "_:node", "[]", "[ a lv2:Plugin ]",
    "()",
    "( 1 2 )", "a", ";", ".", ",", "[", "]", "lv2:port", "lv2:index", "lv2:symbol", "lv2:minimum",
    "lv2:maximum", "lv2:default", "lv2:ControlPort", "lv2:AudioPort", "lv2:InputPort",
    "lv2:OutputPort",
    "atom:AtomPort", "lv2:scalePoint", "lv2:portProperty", "lv2:toggled", "lv2:integer",
    "lv2:enumeration", "lv2:sampleRate", "pprops:logarithmic", "pprops:trigger", "lv2:designation",
    "lv2:enabled", "lv2:freeWheeling", "lv2:latency", "lv2:reportsLatency", "rsz:minimumSize",
    "units:unit", "pg:group", "patch:writable", "patch:readable", "lv2:requiredFeature",
    "state:loadDefaultState", "lv2:extensionData", "lv2:binary", "<any.so>", "rdfs:seeAlso",
    "<plugins.ttl>", "lv2:appliesTo", "pset:Preset", "pset:value", "state:state", "lv2:Plugin",
    "\\\"", "\"\"\"", "<http://", "@prefix", "@base", "\u{0}", "\u{fffd}",
  ]

  // MARK: Running a case

  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws {
    let files = FileManager.default
    let folder = "\(scratch).bundles"
    let bundle = "\(folder)/fuzz.lv2"
    defer { try? files.removeItem(atPath: folder) }
    try files.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    for file in corpus.files {
      let bytes = file.name == input.name ? input.bytes : file.bytes
      try Data(bytes).write(to: URL(fileURLWithPath: "\(bundle)/\(file.name)"))
    }
    try files.createSymbolicLink(atPath: "\(bundle)/any.so", withDestinationPath: library)
    let world = World(path: folder)
    for uri in world.uris {
      guard let plugin = try? world.description(of: uri) else { continue }
      _ = try JSONEncoder().encode(plugin)
      for preset in plugin.presets { _ = try? world.preset(preset.uri, of: uri) }
      for control in plugin.ports {
        let range = control.range(sampleRate: 96000)
        for bound in [range.default, range.minimum, range.maximum] {
          guard bound.map(\.isFinite) ?? true else {
            throw FuzzError("a bound of “\(control.symbol)” is no number")
          }
        }
      }
      guard plugin.problems.isEmpty else { continue }
      let length = dice.once(in: 40) ? ValidationLength.full(seconds: 0.001) : .short
      _ = PluginValidation.run(uri, in: world, length) { _ in }
      bind(plugin, world, &dice)
    }
  }

  /// Binds a controller to all controls and parameters.
  private func bind(_ plugin: PluginDescription, _ world: World, _ dice: inout Dice) {
    let settings = PluginSettings(sampleRate: 48000, maximumFrames: 64)
    guard let instance = try? PluginInstance(plugin.uri, in: world, settings: settings),
      let controller = MIDIController(number: 7)
    else { return }
    for name in plugin.ports.map(\.symbol) + plugin.parameters.map(\.uri) {
      try? instance.bind(MIDIBinding(controller, to: MIDITarget(name)))
      let low = Float([-1e30, -1, 0, 0.5][dice.roll(4)])
      try? instance.bind(MIDIBinding(controller, to: MIDITarget(name, low: low, high: 1e30)))
      try? instance.set(name, to: low)
    }
    _ = instance.bindings
  }

  // MARK: The undamaged bundle

  /// The code of a plugin that accepts any ports and does nothing.
  private static let code = """
    typedef struct { const char *uri; void *(*instantiate)(void); void (*connect)(void);
      void (*activate)(void); void (*run)(void); void (*deactivate)(void); void (*cleanup)(void);
      const void *(*extension)(const char *); } Descriptor;
    static void *instantiate(void) { static int it; return &it; }
    static void nothing(void) {}
    static const void *none(const char *uri) { (void)uri; return 0; }
    static const Descriptor all[] = {
      {"urn:fuzz:effect", instantiate, nothing, 0, nothing, 0, nothing, none},
      {"urn:fuzz:synth", instantiate, nothing, 0, nothing, 0, nothing, none}};
    const void *lv2_descriptor(unsigned index) { return index < 2 ? &all[index] : 0; }
    """

  private static let prefixes = """
    @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
    @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
    @prefix doap: <http://usefulinc.com/ns/doap#> .
    @prefix foaf: <http://xmlns.com/foaf/0.1/> .
    @prefix midi: <http://lv2plug.in/ns/ext/midi#> .
    @prefix patch: <http://lv2plug.in/ns/ext/patch#> .
    @prefix pg: <http://lv2plug.in/ns/ext/port-groups#> .
    @prefix pprops: <http://lv2plug.in/ns/ext/port-props#> .
    @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix rsz: <http://lv2plug.in/ns/ext/resize-port#> .
    @prefix state: <http://lv2plug.in/ns/ext/state#> .
    @prefix time: <http://lv2plug.in/ns/ext/time#> .
    @prefix units: <http://lv2plug.in/ns/extensions/units#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

    """

  private static let turtle = [
    "manifest.ttl": """
    <urn:fuzz:effect> a lv2:Plugin ; lv2:binary <any.so> ; rdfs:seeAlso <plugins.ttl> .
    <urn:fuzz:synth> a lv2:Plugin ; lv2:binary <any.so> ; rdfs:seeAlso <plugins.ttl> .
    <urn:fuzz:loud> a pset:Preset ; lv2:appliesTo <urn:fuzz:effect> ; rdfs:seeAlso <presets.ttl> .
    <urn:fuzz:soft> a pset:Preset ; lv2:appliesTo <urn:fuzz:effect> ; rdfs:seeAlso <presets.ttl> .

    """,
    "plugins.ttl": """
    <urn:fuzz:group> a pg:StereoGroup ; lv2:symbol "main" ; lv2:name "Main" .
    <urn:fuzz:cutoff> a lv2:Parameter ; rdfs:label "Cutoff" ; rdfs:range atom:Float ;
      lv2:default 1000.0 ; lv2:minimum 20.0 ; lv2:maximum 20000.0 ; units:unit units:hz .
    <urn:fuzz:file> a lv2:Parameter ; rdfs:label "File" ; rdfs:range atom:Path .
    <urn:fuzz:effect> a lv2:Plugin , lv2:AmplifierPlugin ; doap:name "Effect" ;
      doap:license <http://opensource.org/licenses/isc> ; doap:maintainer [ foaf:name "Nobody" ] ;
      lv2:optionalFeature lv2:hardRTCapable , state:loadDefaultState ;
      patch:writable <urn:fuzz:cutoff> , <urn:fuzz:file> ; patch:readable <urn:fuzz:cutoff> ;
      state:state [ <urn:fuzz:cutoff> 500.0 ] ; lv2:port
      [ a lv2:AudioPort , lv2:InputPort ; lv2:index 0 ; lv2:symbol "in" ; lv2:name "In" ;
        pg:group <urn:fuzz:group> ; lv2:designation pg:left ] ,
      [ a lv2:AudioPort , lv2:OutputPort ; lv2:index 1 ; lv2:symbol "out" ; lv2:name "Out" ] ,
      [ a lv2:ControlPort , lv2:InputPort ; lv2:index 2 ; lv2:symbol "gain" ; lv2:name "Gain" ;
        lv2:default 0.0 ; lv2:minimum -90.0 ; lv2:maximum 24.0 ; units:unit units:db ;
        lv2:scalePoint [ rdfs:label "Unity" ; rdf:value 0.0 ] ] ,
      [ a lv2:ControlPort , lv2:InputPort ; lv2:index 3 ; lv2:symbol "freq" ; lv2:name "Frequency" ;
        lv2:default 440.0 ; lv2:minimum 0.001 ; lv2:maximum 0.4 ; pprops:rangeSteps 100 ;
        lv2:portProperty lv2:sampleRate , pprops:logarithmic ] ,
      [ a lv2:ControlPort , lv2:InputPort ; lv2:index 4 ; lv2:symbol "mode" ; lv2:name "Mode" ;
        lv2:default 0 ; lv2:minimum 0 ; lv2:maximum 2 ;
        lv2:portProperty lv2:integer , lv2:enumeration ;
        lv2:scalePoint [ rdfs:label "Low" ; rdf:value 0 ] , [ rdfs:label "High" ; rdf:value 2 ] ] ,
      [ a lv2:ControlPort , lv2:OutputPort ; lv2:index 5 ; lv2:symbol "late" ; lv2:name "Latency" ;
        lv2:portProperty lv2:reportsLatency ; lv2:designation lv2:latency ; lv2:minimum 0 ] ,
      [ a lv2:ControlPort , lv2:InputPort ; lv2:index 6 ; lv2:symbol "on" ; lv2:name "On" ;
        lv2:default true ; lv2:minimum 0 ; lv2:maximum 1 ; lv2:portProperty lv2:toggled ;
        lv2:designation lv2:enabled ] .
    <urn:fuzz:synth> a lv2:Plugin , lv2:InstrumentPlugin ; doap:name "Synth" ; lv2:port
      [ a atom:AtomPort , lv2:InputPort ; lv2:index 0 ; lv2:symbol "notes" ; lv2:name "Notes" ;
        atom:bufferType atom:Sequence ; atom:supports midi:MidiEvent , time:Position ,
        patch:Message ; lv2:designation lv2:control ; rsz:minimumSize 8192 ] ,
      [ a atom:AtomPort , lv2:OutputPort ; lv2:index 1 ; lv2:symbol "told" ; lv2:name "Told" ] ,
      [ a lv2:CVPort , lv2:OutputPort ; lv2:index 2 ; lv2:symbol "out" ; lv2:name "Out" ] ,
      [ a lv2:ControlPort , lv2:InputPort ; lv2:index 3 ; lv2:symbol "go" ; lv2:name "Go" ;
        lv2:default 0 ; lv2:minimum 0 ; lv2:maximum 1 ; lv2:portProperty pprops:trigger ] .

    """,
    "presets.ttl": """
    <urn:fuzz:loud> a pset:Preset ; lv2:appliesTo <urn:fuzz:effect> ; rdfs:label "Loud" ;
      pset:bank <urn:fuzz:bank> ; state:state [ <urn:fuzz:cutoff> 900.0 ] ;
      lv2:port [ lv2:symbol "gain" ; pset:value 6.0 ] , [ lv2:symbol "mode" ; pset:value 2 ] .
    <urn:fuzz:soft> a pset:Preset ; lv2:appliesTo <urn:fuzz:effect> ; rdfs:label "Soft" ;
      lv2:port [ lv2:symbol "gain" ; pset:value -20.0 ] , [ lv2:symbol "on" ; pset:value false ] .

    """,
  ]
}
