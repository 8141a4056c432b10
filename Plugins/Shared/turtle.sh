# Functions that write a bundle's Turtle files. A `turtle` script sources this file with the
# bundle's name and the output folder. Ports are numbered in the order that `Effect` documents.
name=$1 folder=$2
base=urn:cuejack:plugins:$name
data=$folder/$name.ttl manifest=$folder/manifest.ttl presets=$folder/presets.ttl
rm -f "$presets"

prefixes() {
  cat <<'TTL'
@prefix atom: <http://lv2plug.in/ns/ext/atom#> .
@prefix doap: <http://usefulinc.com/ns/doap#> .
@prefix log: <http://lv2plug.in/ns/ext/log#> .
@prefix lv2: <http://lv2plug.in/ns/lv2core#> .
@prefix midi: <http://lv2plug.in/ns/ext/midi#> .
@prefix param: <http://lv2plug.in/ns/ext/parameters#> .
@prefix patch: <http://lv2plug.in/ns/ext/patch#> .
@prefix pg: <http://lv2plug.in/ns/ext/port-groups#> .
@prefix pprops: <http://lv2plug.in/ns/ext/port-props#> .
@prefix pset: <http://lv2plug.in/ns/ext/presets#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rsz: <http://lv2plug.in/ns/ext/resize-port#> .
@prefix state: <http://lv2plug.in/ns/ext/state#> .
@prefix units: <http://lv2plug.in/ns/extensions/units#> .
@prefix urid: <http://lv2plug.in/ns/ext/urid#> .
@prefix work: <http://lv2plug.in/ns/ext/worker#> .

TTL
}

prefixes > "$data"
prefixes > "$manifest"
cat >> "$data" <<'TTL'
<urn:cuejack:project>
	a doap:Project ;
	doap:name "Cuejack" ;
	doap:license <https://www.apache.org/licenses/LICENSE-2.0> .

TTL

# plugin URI CLASS NAME COMMENT INPUTS OUTPUTS: starts a plugin and writes its audio ports. An instrument has 0
# inputs.
plugin() {
  uri=$1 index=0
  printf '<%s>\n\ta lv2:Plugin ;\n\tlv2:binary <%s.so> ;\n\trdfs:seeAlso <%s.ttl> .\n\n' \
    "$uri" "$name" "$name" >> "$manifest"
  group in "In" pg:InputGroup "$5"
  group out "Out" pg:OutputGroup "$6"
  cat >> "$data" <<TTL
<$uri>
	a lv2:Plugin, $2 ;
	doap:name "$3" ;
	rdfs:comment "$4" ;
	doap:license <https://www.apache.org/licenses/LICENSE-2.0> ;
	lv2:project <urn:cuejack:project> ;
	lv2:minorVersion 2 ;
	lv2:microVersion 0 ;
	lv2:optionalFeature lv2:hardRTCapable ;$([ "$5" = 0 ] || printf '\n\tpg:mainInput <%s#in> ;' "$uri")
	pg:mainOutput <$uri#out> .

TTL
  audio in "In" lv2:InputPort "$5"
  audio out "Out" lv2:OutputPort "$6"
}

# group SYMBOL NAME CLASS CHANNELS
group() {
  [ "$4" != 0 ] || return 0
  local kind=pg:MonoGroup
  [ "$4" = 1 ] || kind=pg:StereoGroup
  printf '<%s#%s>\n\ta %s, %s ;\n\tlv2:symbol "%s" ;\n\trdfs:label "%s" .\n\n' \
    "$uri" "$1" "$kind" "$3" "$1" "$2" >> "$data"
}

# audio SYMBOL NAME CLASS CHANNELS
audio() {
  [ "$4" != 0 ] || return 0
  if [ "$4" = 1 ]; then
    port "$3, lv2:AudioPort" "$1" "$2" "pg:group <$uri#$1> ; lv2:designation pg:center"
  else
    port "$3, lv2:AudioPort" "$1_l" "$2 left" "pg:group <$uri#$1> ; lv2:designation pg:left"
    port "$3, lv2:AudioPort" "$1_r" "$2 right" "pg:group <$uri#$1> ; lv2:designation pg:right"
  fi
}

# port CLASSES SYMBOL NAME [MORE]: a port; MORE is additional Turtle.
port() {
  cat >> "$data" <<TTL
<$uri> lv2:port [
	a $1 ;
	lv2:index $index ;
	lv2:symbol "$2" ;
	lv2:name "$3"${4:+ ;
	$4}
] .
TTL
  index=$((index + 1))
}

# control SYMBOL NAME DEFAULT LEAST MOST [MORE]: a control input.
control() {
  port "lv2:InputPort, lv2:ControlPort" "$1" "$2" \
    "lv2:default $3 ; lv2:minimum $4 ; lv2:maximum $5${6:+ ;
	$6}"
}

# reading SYMBOL NAME LEAST MOST [MORE]: a control output.
reading() {
  port "lv2:OutputPort, lv2:ControlPort" "$1" "$2" \
    "lv2:minimum $3 ; lv2:maximum $4${5:+ ;
	$5}"
}

# file_parameter NAME COMMENT: the parameter for a plugin's file, and the features that loading it needs.
file_parameter() {
  cat >> "$data" <<TTL
<$base#file>
	a lv2:Parameter ;
	rdfs:label "$1" ;
	rdfs:comment "$2" ;
	rdfs:range atom:Path .

<$uri>
	lv2:requiredFeature urid:map ;
	lv2:optionalFeature work:schedule, log:log, state:mapPath ;
	lv2:extensionData state:interface, work:interface ;
	patch:writable <$base#file> .

TTL
}

# event_ports TYPES: the ports for events, of these types, and for the answers to them.
event_ports() {
  port "lv2:InputPort, atom:AtomPort" in "Events" \
    "atom:bufferType atom:Sequence ; atom:supports $1 ; lv2:designation lv2:control ; rsz:minimumSize 65536"
  port "lv2:OutputPort, atom:AtomPort" notify "Answers" \
    "atom:bufferType atom:Sequence ; atom:supports patch:Message ; lv2:designation lv2:control ; rsz:minimumSize 8192"
}

enabled() {
  control enabled "Enabled" 1 0 1 "lv2:designation lv2:enabled ; lv2:portProperty lv2:toggled"
}

decibels="units:unit units:db"

# scale LABEL...: scale points counted from 0, for use as MORE.
scale() {
  local label number=0 text="lv2:portProperty lv2:integer, lv2:enumeration"
  for label; do
    text+=" ;
	lv2:scalePoint [ rdfs:label \"$label\" ; rdf:value $number ]"
    number=$((number + 1))
  done
  printf '%s' "$text"
}

# preset SYMBOL LABEL PORT=VALUE...: a preset of all plugins declared so far.
preset() {
  local symbol=$1 label=$2 pair
  shift 2
  [ -e "$presets" ] || prefixes > "$presets"
  printf '<%s#%s>\n\ta pset:Preset ;\n\tlv2:appliesTo <%s>, <%s-mono> ;\n\trdfs:seeAlso <presets.ttl> .\n\n' \
    "$base" "$symbol" "$base" "$base" >> "$manifest"
  {
    printf '<%s#%s>\n\ta pset:Preset ;\n\tlv2:appliesTo <%s>, <%s-mono> ;\n\trdfs:label "%s"' \
      "$base" "$symbol" "$base" "$base" "$label"
    for pair; do
      printf ' ;\n\tlv2:port [ lv2:symbol "%s" ; pset:value %s ]' "${pair%%=*}" "${pair#*=}"
    done
    printf ' .\n\n'
  } >> "$presets"
}
