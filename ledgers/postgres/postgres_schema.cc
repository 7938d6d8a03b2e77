#include "ledgers/postgres/postgres_schema.h"

#include <cstddef>

namespace neliroute {
namespace {

// @ stands for the schema's name.
constexpr std::string_view kHead =
    R"sql(-- neliroute's logs, for PostgreSQL 13 and newer. Running it again is harmless.
-- Owners of slots need:    GRANT USAGE ON SCHEMA @ TO role;
--                          GRANT SELECT ON ALL TABLES IN SCHEMA @ TO role;
--                          GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA @ TO role;
-- Who only looks up:       the first two.
)sql";

constexpr std::string_view kBody = R"sql(SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '4s';
SELECT pg_advisory_xact_lock(hashtext('neliroute schema @'));
CREATE SCHEMA IF NOT EXISTS @;

-- Kept short, so that its one row moves within a page at each append.
CREATE TABLE IF NOT EXISTS @.log (
  topic text NOT NULL,
  log int NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),  -- which log this is
  next bigint NOT NULL DEFAULT 0,              -- the next record's position
  low bigint NOT NULL DEFAULT 0,               -- the oldest record that is kept
  stamped bigint NOT NULL DEFAULT 0,           -- the newest stamp, ms since 1970
  kept bigint NOT NULL DEFAULT 600000,         -- for how long records are kept at least, ms
  PRIMARY KEY (topic, log)
) WITH (fillfactor = 10);

CREATE TABLE IF NOT EXISTS @.record (
  topic text NOT NULL,
  log int NOT NULL,
  position bigint NOT NULL,
  stamped bigint NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (topic, log, position)
);

-- The newest claim of each partition, for owned().
CREATE TABLE IF NOT EXISTS @.claim (
  id uuid NOT NULL,  -- of the log
  lane int NOT NULL,
  partition int NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (id, lane, partition)
);

-- What a record claims. Its writer has put it in this form.
CREATE OR REPLACE FUNCTION @.claimed(p_topic text, p_log int, p_value bytea,
                                     OUT lane int, OUT partition int) RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_text text := encode(p_value, 'escape');
  v_logs int;
  v_range text;
BEGIN
  lane := substring(v_text FROM '^\{"v":\d+,"t":"claim","lane":(\d{1,5}),');
  IF lane IS NULL THEN RETURN; END IF;
  SELECT count(*) INTO v_logs FROM @.log l WHERE l.topic = p_topic;
  FOREACH v_range IN ARRAY coalesce(
      string_to_array(substring(v_text FROM ',"lparts":"([0-9,-]*)",'), ','), '{}') LOOP
    CONTINUE WHEN v_range !~ '^\d{1,5}(-\d{1,5})?$';
    FOR i IN split_part(v_range, '-', 1)::int
          .. least(coalesce(nullif(split_part(v_range, '-', 2), ''), v_range)::int, 65535) LOOP
      partition := i * v_logs + p_log;
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;

-- Whether nobody has claimed the partition since the claim at that position, which is the offset of
-- the epoch of begin() or lease(). Nobody can until the caller's transaction has ended: so what it
-- writes comes before all that a successor reads. Keep that transaction short.
CREATE OR REPLACE FUNCTION @.owned(p_topic text, p_lane int, p_partition int, p_offset bigint)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_logs int;
  v_next bigint;
  v_id uuid;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'owned() needs a transaction that is read committed, or it sees no new claim';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(hashtext('neliroute @/' || p_topic || '/' || p_lane),
                                       p_partition % 256);
  SELECT count(*) INTO v_logs FROM @.log WHERE topic = p_topic;
  SELECT id, next INTO v_id, v_next FROM @.log
   WHERE topic = p_topic AND log = p_partition % nullif(v_logs, 0);
  RETURN FOUND AND p_offset >= 0 AND p_offset < v_next
     AND NOT EXISTS (SELECT FROM @.claim WHERE id = v_id AND lane = p_lane
                        AND partition = p_partition AND position > p_offset);
END $$;

-- The row's lock is held until the records can be read: so they appear in the order of their
-- positions. p_plain: the values are ASCII, and listeners may be told them. Anybody may listen and
-- notify: the channel's name is the log's id, which only who may read the log knows. Stamps do not
-- fall, but after a clock was far ahead.
CREATE OR REPLACE FUNCTION @.append(p_topic text, p_log int, p_id uuid, p_kept bigint,
                                    p_wait int, p_values bytea[], p_plain boolean)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_count int := cardinality(p_values);
  v_first bigint;
  v_low bigint;
  v_stamped bigint;
  v_kept bigint;
  v_now bigint;
  v_text text;
  v_lane int;
  v_part int;
BEGIN
  PERFORM set_config('lock_timeout', p_wait || 'ms', true);
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- In one order, and before the row: who waits here holds up nobody else.
  FOR v_lane, v_part IN SELECT DISTINCT c.lane, c.partition % 256  -- of locks there are few
      FROM unnest(p_values) v, @.claimed(p_topic, p_log, v) c ORDER BY 1, 2 LOOP
    PERFORM pg_advisory_xact_lock(hashtext('neliroute @/' || p_topic || '/' || v_lane), v_part);
  END LOOP;
  SELECT stamped INTO v_stamped FROM @.log
   WHERE topic = p_topic AND log = p_log AND id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'log % of % is gone, or another one is in its place', p_log, p_topic
      USING ERRCODE = 'NR001';
  END IF;
  v_now := floor(extract(epoch FROM clock_timestamp()) * 1000);
  IF v_stamped < v_now OR v_stamped > v_now + 1000 THEN
    v_stamped := v_now;
  END IF;
  UPDATE @.log
     SET next = next + v_count, stamped = v_stamped,
         kept = greatest(kept, least(p_kept, 604800000))
   WHERE topic = p_topic AND log = p_log
   RETURNING next - v_count, low, kept INTO v_first, v_low, v_kept;
  FOR i IN 1..v_count LOOP
    INSERT INTO @.record VALUES (p_topic, p_log, v_first + i - 1, v_stamped, p_values[i]);
    INSERT INTO @.claim AS old
      SELECT DISTINCT p_id, lane, partition, v_first + i - 1
        FROM @.claimed(p_topic, p_log, p_values[i])
      ON CONFLICT (id, lane, partition) DO UPDATE SET position = excluded.position;
    v_text := p_log || ' ' || (v_first + i - 1) || ' ' || v_stamped;
    IF p_plain AND octet_length(p_values[i]) < 7900 THEN
      v_text := v_text || ' ' || convert_from(p_values[i], 'UTF8');
    END IF;
    PERFORM pg_notify('neliroute_' || replace(p_id::text, '-', ''), v_text);
  END LOOP;
  IF v_first / 256 < (v_first + v_count) / 256 THEN
    PERFORM @.expire(p_topic, p_log, v_low, v_stamped - v_kept);
  END IF;
  RETURN v_first;
END $$;

-- Of the 1,024 that are the oldest, which is more than came since the last time: all up to the last
-- one that is too old.
CREATE OR REPLACE FUNCTION @.expire(p_topic text, p_log int, p_low bigint, p_before bigint)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_low bigint;
BEGIN
  SELECT max(position) + 1 INTO v_low FROM (
    SELECT position, stamped FROM @.record
     WHERE topic = p_topic AND log = p_log AND position >= p_low ORDER BY position LIMIT 1024
  ) oldest WHERE stamped < p_before;
  IF v_low IS NOT NULL THEN
    DELETE FROM @.record
     WHERE topic = p_topic AND log = p_log AND position >= p_low AND position < v_low;
    UPDATE @.log SET low = v_low WHERE topic = p_topic AND log = p_log;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION @.make_logs(p_topic text, p_logs int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_logs NOT BETWEEN 1 AND 1024 THEN
    RAISE EXCEPTION 'a topic has 1 to 1024 logs, not %', p_logs;
  END IF;
  PERFORM set_config('lock_timeout', '4s', true);
  PERFORM pg_advisory_xact_lock(hashtext('neliroute logs @/' || p_topic));
  IF NOT EXISTS (SELECT FROM @.log WHERE topic = p_topic) THEN
    INSERT INTO @.log (topic, log) SELECT p_topic, generate_series(0, p_logs - 1);
  END IF;
END $$;

-- Neither backups nor subscribers take over. What its owner may not see counts as a standby.
CREATE OR REPLACE FUNCTION @.standbys() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT count(*) FROM pg_stat_replication r
   WHERE r.state IS DISTINCT FROM 'backup'
     AND r.application_name IS DISTINCT FROM 'pg_basebackup'
     AND r.application_name IS DISTINCT FROM 'pg_receivewal'
     AND NOT EXISTS (SELECT FROM pg_replication_slots s
                      WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
$$;

REVOKE ALL ON FUNCTION @.append(text, int, uuid, bigint, int, bytea[], boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION @.expire(text, int, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION @.claimed(text, int, bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION @.owned(text, int, int, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION @.make_logs(text, int) FROM PUBLIC;
REVOKE ALL ON FUNCTION @.standbys() FROM PUBLIC;

-- A table of somebody else's might have triggers, which the functions would run as their owner.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE relnamespace = '@'::regnamespace
               AND relowner <> current_user::regrole)
     OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = '@'::regnamespace
                  AND proowner <> current_user::regrole) THEN
    RAISE EXCEPTION 'schema @ has objects of another user; run this as their owner, or choose '
      'another schema';
  END IF;
END $$;
)sql";

std::string within(std::string_view text, std::string_view schema) {
  std::string result;
  for (const char one : text) {
    if (one == '@') {
      result += schema;
    } else {
      result += one;
    }
  }
  return result;
}

}  // namespace

std::string postgres_schema(std::string_view schema) {
  return within(kHead, schema) + "BEGIN;\n" + within(kBody, schema) + "COMMIT;\n";
}

std::string postgres_schema_body(std::string_view schema) { return within(kBody, schema); }

Result<void> check_schema_name(std::string_view schema) {
  constexpr std::size_t kMost = 63;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz_0123456789";
  const bool fits = !schema.empty() && schema.size() <= kMost &&
                    schema.find_first_not_of(kAllowed) == std::string_view::npos &&
                    (schema[0] < '0' || schema[0] > '9') && !schema.starts_with("pg_");
  if (fits) return {};
  return Error{Errc::bad_option, "\"" + std::string(schema) +
                                     "\" is no name of a schema here; write 1 to 63 of a-z, 0-9 "
                                     "and \"_\", with no digit and no pg_ first"};
}

}  // namespace neliroute
