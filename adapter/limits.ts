import { getHeapStatistics } from 'node:v8';

/*
 * How large a message, and what is kept of it, may be on its way. In bytes, or in characters where the name says so. What
 * JSON may hold stands in lib/json/json-limits.ts, parts of a few bytes in lib/stream/small-parts.ts.
 */

// ── from clients ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Messages in one body. */
export const MAX_BATCH = 100;
/** Of the id of a request, and of a progress token. */
export const MAX_ID_CHARS = 256;
/** Beyond it a body is large: who sends it is looked at before it is read. */
export const LARGE_BODY_BYTES = 64 << 10;
/** Outside of sessions, clients of the revisions that have them may only open one. */
export const WITHOUT_SESSION_BYTES = 512 << 10;
/** What a session remembers of a request. Clients that describe themselves with icons need some space. */
export const MAX_KEPT_PARAMS_CHARS = 16 << 10;
/** What a request that is under way takes, about: connection, headers, exchange, what is kept for its end. */
export const REQUEST_BYTES = 32 << 10;
/** How much is read from a client that is still sending when it has its answer already. */
export const LINGER_BYTES = 16 << 20;

// ── answers of upstreams ─────────────────────────────────────────────────────────────────────────────────────────

const LARGEST_BYTES = 64 << 20;
/**
 * An answer that has to be read as a whole (a list, a handshake, a result with files) may be this large; what need not be
 * read passes. It is in memory several times meanwhile: as bytes, as text of up to two bytes a character, and as what is
 * made of it. In bytes, or characters.
 */
export const MAX_ANSWER_BYTES = Math.min(LARGEST_BYTES, Math.floor(getHeapStatistics().heap_size_limit / 16));
/** Answers up to this size get a Content-Length and one write; larger ones are streamed. */
export const WHOLE_ANSWER_BYTES = 256 << 10;
/** A 400 that may mean that a session is over. */
export const INSPECTED_BYTES = 64 << 10;
/** A frame that grows larger is not kept in memory where nobody wants to see it. */
export const LARGE_FRAME_CHARS = 256 << 10;
/** What may wait for the head of an answer: an upstream that sends more before the head never ends. */
export const MAX_HELD_CHARS = 1 << 20;
/** The same in messages. */
export const MAX_HELD_FRAMES = 100;
/** Whitespace before a message; nobody waits for what comes after more of it. */
export const MAX_LEADING_CHARS = 1 << 20;
/** What a server without sessions may ask at once, and in how many characters. */
export const MAX_QUESTIONS = 32;
export const MAX_QUESTIONS_CHARS = 4 << 20;
/** What such a server wants to be told again with the answers. */
export const MAX_REQUEST_STATE_CHARS = 256 << 10;
/** What such a server may say of itself. */
export const MAX_DISCOVERY_CHARS = 256 << 10;
/** A smaller answer is not counted: there are too many of them, and they are over at once. */
export const UNCOUNTED_BYTES = 16 << 10;

// ── answers to the adapter's own requests ────────────────────────────────────────────────────────────────────────

/** One answer. */
export const OWN_ANSWER_BYTES = 16 << 20;
/** A list with all its pages: whatever is done to it is done to all of it. */
export const MAX_LIST_CHARS = 16 << 20;
export const MAX_LIST_PAGES = 1_000;
/** What no session uses serves nobody, and costs the adapter time and memory. */
export const MAX_LIST_TOOLS = 20_000;

// ── between replicas ─────────────────────────────────────────────────────────────────────────────────────────────

/** Each goes to every replica, and Redis cuts off whom it owes 32 MiB. Only what a server asks while code runs is not small. */
export const MAX_CONTROL_CHARS = 256 << 10;
/** How many messages a session's log keeps, so that a client that reconnects finds what it missed. */
export const LOG_LENGTH = 500;
/** Large messages make the log shorter, and a message that is larger itself is delivered but not kept. */
export const LOG_BYTES = 1 << 20;
/** The logs of all sessions together: in Redis those of one server, in memory those of all. */
export const LOGS_BYTES = 32 << 20;
/** What an entry takes beside its message: its id, its carrier, and what holds them. */
export const ENTRY_BYTES = 256;
/** Of one session, those expected last; what broken connections have left is forgotten before its time then. */
export const MAX_EXPECTED = 1000;

// ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * How long what is made of a complete answer may take beyond the time limit, in milliseconds: that is the upstream's. Less than what
 * leases of files leave.
 */
export const AFTER_LIMIT_MS = 50_000;
