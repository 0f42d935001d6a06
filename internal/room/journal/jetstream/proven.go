package jetstream

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
)

// The proof of which machine sent a message in a shard. A batch has one signature, of the root of a hash tree over
// its messages, and each message carries the hashes on its path to the root. So a message can be checked even if
// others of its batch were erased.
const (
	machineHeader   = "Pennypost-Machine"
	numberHeader    = "Pennypost-Number"    // see proof.way
	signatureHeader = "Pennypost-Signature" // base64
	treeHeader      = "Pennypost-Tree"      // base64: sides and hashes up to the root
	copiedHeader    = "Pennypost-Copied"    // of a message that repeats another machine's
	keyHeader       = "Pennypost-Key"       // base64, of a message copied to a lane where no key is known yet
)

// signed are the headers that the signature covers, in addition to the subject and the text.
var signed = []string{headerID, machineHeader, numberHeader, headerGone, fenceHeader, seqHeader, afterHeader,
	archivedHeader, copiedHeader, keyHeader}

// Each hashed text begins with one of these, so that a hash has one meaning only.
const (
	leafDomain = "pennypost event 1\x00"
	nodeDomain = "pennypost batch 1\x00"
	rootDomain = "pennypost machine 1\x00"
)

type digest = [sha256.Size]byte

// Ways are a machine's send channels. The numbers of the messages on one way rise in the order in which they arrive.
const (
	wayOfMending = maxFlights // of messages that are put back
	ways         = maxFlights + 1
)

// proof is a message's proof of the machine that sent it.
type proof struct {
	machine   mail.Machine
	way       int
	number    uint64 // 0: none
	key       ed25519.PublicKey
	root      digest
	signature []byte
	copied    bool
	base      bool // it is part of the copy that founds the room in a new lane
}

// proves reports whether this machine can sign: it has a key and a name.
func (c *Cluster) proves() bool { return c.cfg.Signer != nil && c.cfg.Machine != "" }

// publicKey returns this machine's, nil if it has none.
func (c *Cluster) publicKey() ed25519.PublicKey {
	if !c.proves() {
		return nil
	}
	return c.cfg.Signer.Public().(ed25519.PublicKey)
}

// sign signs messages that are stored together. A number of 0 is left out.
func (c *Cluster) sign(msgs []*nats.Msg, texts [][]byte, way int, number uint64) {
	if !c.proves() {
		return
	}
	leaves := make([]digest, len(msgs))
	for i, m := range msgs {
		m.Header[machineHeader] = []string{string(c.cfg.Machine)}
		if number > 0 {
			m.Header[numberHeader] = []string{strconv.Itoa(way) + "." + strconv.FormatUint(number+uint64(i), 10)}
		}
		leaves[i] = leafOf(m, texts[i])
	}
	root, paths := tree(leaves)
	signature := []string{base64.StdEncoding.EncodeToString(ed25519.Sign(c.cfg.Signer, rootText(root)))}
	for i, m := range msgs {
		m.Header[signatureHeader] = signature
		if len(paths[i]) > 0 {
			m.Header[treeHeader] = []string{base64.StdEncoding.EncodeToString(paths[i])}
		}
	}
}

func rootText(root digest) []byte { return append([]byte(rootDomain), root[:]...) }

// leafOf returns the hash of a message, whose text is given unpacked.
func leafOf(m *nats.Msg, text []byte) digest {
	b := make([]byte, 0, 512)
	b = append(b, leafDomain...)
	add := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	add(m.Subject)
	for _, name := range signed {
		add(m.Header.Get(name))
	}
	sum := sha256.Sum256(text)
	return sha256.Sum256(append(b, sum[:]...))
}

const (
	onLeft  = 0
	onRight = 1
	step    = 1 + sha256.Size // a side, and the hash on it
	// longestPath is the length of a path in the largest batch.
	longestPath = 10 * step
)

func join(l, r digest) digest {
	b := make([]byte, 0, len(nodeDomain)+2*len(l))
	b = append(append(append(b, nodeDomain...), l[:]...), r[:]...)
	return sha256.Sum256(b)
}

// tree returns the root over leaves, and the path from each leaf to it.
func tree(leaves []digest) (digest, [][]byte) {
	paths := make([][]byte, len(leaves))
	level := slices.Clone(leaves)
	for width := 1; len(level) > 1; width *= 2 { // each node covers this many leaves, the last maybe fewer
		var above []digest
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) {
				above = append(above, level[i])
				continue
			}
			above = append(above, join(level[i], level[i+1]))
			for leaf := i * width; leaf < min((i+2)*width, len(leaves)); leaf++ {
				if leaf < (i+1)*width {
					paths[leaf] = append(append(paths[leaf], onRight), level[i+1][:]...)
				} else {
					paths[leaf] = append(append(paths[leaf], onLeft), level[i][:]...)
				}
			}
		}
		level = above
	}
	return level[0], paths
}

// climb returns the root to which a path leads from a leaf. A malformed path leads to a root that no one has signed.
func climb(h digest, path []byte) digest {
	if len(path)%step != 0 || len(path) > longestPath {
		return digest{}
	}
	for ; len(path) > 0; path = path[step:] {
		beside := digest(path[1:step])
		if path[0] == onLeft {
			h = join(beside, h)
		} else {
			h = join(h, beside)
		}
	}
	return h
}

// proofOf reads a message's proof without checking it.
func proofOf(m *nats.Msg, text []byte, base string) (p proof) {
	p.machine = mail.Machine(m.Header.Get(machineHeader))
	signature := m.Header.Get(signatureHeader)
	if p.machine == "" || signature == "" {
		p.base = isCopy(m, base)
		return p
	}
	p.signature, _ = base64.StdEncoding.DecodeString(signature)
	path, err := base64.StdEncoding.DecodeString(m.Header.Get(treeHeader))
	if len(p.signature) != ed25519.SignatureSize || err != nil {
		p.signature = make([]byte, ed25519.SignatureSize) // of no one
	}
	if key, err := base64.StdEncoding.DecodeString(m.Header.Get(keyHeader)); err == nil &&
		len(key) == ed25519.PublicKeySize {
		p.key = key
	}
	way, number, _ := strings.Cut(m.Header.Get(numberHeader), ".")
	p.way, _ = strconv.Atoi(way)
	p.number, _ = strconv.ParseUint(number, 10, 64)
	if p.way < 0 || p.way >= ways {
		p.way, p.number = 0, 0
	}
	p.copied, p.base = m.Header.Get(copiedHeader) != "", isCopy(m, base)
	p.root = climb(leafOf(m, text), path)
	return p
}

// isCopy reports whether a message is part of the copy to a room's next lane.
func isCopy(m *nats.Msg, base string) bool {
	return strings.HasPrefix(m.Header.Get(headerID), copyID(base, ""))
}

// copyID returns the id of a message that is copied to a room's next lane.
func copyID(base, seq string) string { return base + ".copy." + seq }

// by reports whether a message was signed with a key.
func (p *proof) by(key ed25519.PublicKey) bool {
	return len(p.signature) > 0 && len(key) == ed25519.PublicKeySize &&
		ed25519.Verify(key, rootText(p.root), p.signature)
}

// signFlight signs the messages of a batch for a shard. Sent again, they keep their numbers.
func (j *Journal) signFlight(f *flight, msgs []*nats.Msg) {
	if !j.cluster.proves() {
		return
	}
	way := f.way
	if f.unchecked {
		way = wayOfMending
		for _, m := range msgs {
			m.Header[copiedHeader] = []string{"1"}
		}
	}
	if f.number == 0 {
		f.number = j.numbers(len(msgs))
	}
	j.cluster.sign(msgs, f.texts, way, f.number)
}

// numbers returns the first of n numbers that rise from one call to the next, even after a restart of the program or
// a clock reset.
func (j *Journal) numbers(n int) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := max(j.numbered+1, j.standing.numbered+1, uint64(time.Now().UnixMicro()))
	j.numbered = first + uint64(n) - 1
	return first
}

// signCopies signs messages that are copied to a room's next lane.
func (c *Cluster) signCopies(msgs []*nats.Msg) {
	texts := make([][]byte, len(msgs))
	for i, m := range msgs {
		texts[i] = m.Data
		if c.proves() {
			m.Header[keyHeader] = []string{base64.StdEncoding.EncodeToString(c.publicKey())}
		}
	}
	c.sign(msgs, texts, 0, 0)
}

// holeOf returns the hole that a message leaves when it is erased. A number that its machine has not signed is left
// out.
func holeOf(a *arrival, keys map[mail.Machine]mail.MachineKey) hole {
	x := hole{At: a.at, Seq: a.seq}
	if p := &a.proof; p.number > 0 && p.by(keys[p.machine].Key) {
		x.Machine, x.Way, x.Number = p.machine, p.way, p.number
	}
	return x
}
