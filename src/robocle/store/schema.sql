-- A state: what a learner was taught, as a table of samples. All times are microseconds since 1970.

CREATE TABLE parts (
  name TEXT, -- of a part of the learner; "origin": 32 digits that no other file has
  value TEXT, -- its spec, with all options
  PRIMARY KEY (name, value)
) STRICT
;
CREATE TABLE samples (
  number INTEGER PRIMARY KEY -- in this file only
    CHECK (number BETWEEN 0 AND 1 << 54),
  id BLOB NOT NULL UNIQUE -- 16 bytes that never change, in any file
    CHECK (length(id) = 16),
  origin BLOB NOT NULL -- the id of the file in which it was taught
    CHECK (length(origin) = 16),
  label TEXT, -- NULL: it was removed; unknown: it is none of the objects
  decided INTEGER NOT NULL -- when its label was decided; 0: it is not here, as a merge was undone
    CHECK (decided BETWEEN 0 AND 1 << 54),
  time INTEGER NOT NULL -- when it was taught
    CHECK (time BETWEEN 0 AND 1 << 54),
  changed INTEGER NOT NULL -- the clock of this file when the row last changed
    CHECK (changed BETWEEN 1 AND 1 << 62),
  pictures INTEGER NOT NULL -- 1; 0 if it is folded; of a folded class, how many it has
    CHECK (pictures BETWEEN 0 AND 1 << 54),
  fold INTEGER -- NULL for a sample; else when it was folded, or the class was
    CHECK (fold BETWEEN 0 AND 1 << 54),
  quality TEXT, -- the faults of the picture
  sketch BLOB -- shows when the same picture is taught again
    CHECK (length(sketch) = 64),
  crc INTEGER, -- CRC-32 of the embedding
  bits INTEGER -- of each number of the embedding
    CHECK (bits IN (32, 64)),
  embedding BLOB -- little-endian numbers, of a class its mean; NULL if it is no longer needed
    CHECK (length(embedding) > 0)
    CHECK ((embedding IS NULL) = (bits IS NULL)),
  CHECK (fold IS NOT NULL OR pictures = 1),
  -- A folded class may have a label and no mean: it was forgotten elsewhere, and decided on here.
  CHECK (label IS NULL OR fold IS NOT NULL OR (bits IS NOT NULL AND decided > 0))
) STRICT
;
CREATE INDEX samples_changed ON samples (changed)
;
CREATE TABLE steps (
  number INTEGER PRIMARY KEY,
  token TEXT NOT NULL, -- what follows with the same token belongs to the step
  title TEXT, -- what the user calls it
  done TEXT NOT NULL, -- what it did beside teaching, one line each
  time INTEGER NOT NULL,
  undone INTEGER NOT NULL -- 1: it can be redone
) STRICT
;
CREATE TABLE changes (
  step INTEGER NOT NULL,
  sample INTEGER NOT NULL, -- its number
  label_before TEXT,
  decided_before INTEGER NOT NULL, -- 0: it was not here
  label_after TEXT,
  decided_after INTEGER NOT NULL,
  merged INTEGER NOT NULL -- 1: by a merge, which is undone as if it had never been
) STRICT
;
CREATE INDEX changes_step ON changes (step)
;
CREATE TABLE sums (
  origin BLOB NOT NULL, -- of the samples that are folded
  name TEXT NOT NULL, -- totals, scatter0, scatter1, ...
  fold INTEGER NOT NULL, -- when: of two versions of an origin, the later one wins
  crc INTEGER NOT NULL,
  numbers BLOB NOT NULL, -- 64 bits each, little-endian
  PRIMARY KEY (origin, name)
) STRICT
;
CREATE TABLE badges ( -- only in a file in which a badge was chosen
  decided INTEGER NOT NULL -- when
    CHECK (decided BETWEEN 1 AND 1 << 54),
  label TEXT PRIMARY KEY,
  badge TEXT NOT NULL -- an emoji, or a colour such as #2a6fdb; empty for none
) STRICT
;
