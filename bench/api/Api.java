import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The API of the benchmarks: IPO records that were rendered at the start, a page in one write. It is no simulator: it knows
 * one endpoint, and answers it faster than anybody reads. Started by api-server.ts: java Api.java --records N.
 * Its first line on stdout is {"port": …}.
 */
public class Api {
  public static void main(String[] arguments) throws IOException {
    int records = 100_000;
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      if (arguments[i].equals("--records")) records = Integer.parseInt(arguments[i + 1]);
      else throw new IllegalArgumentException("no such option: " + arguments[i]);
    }
    Store store = new Store(records);
    ServerSocketChannel server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress("127.0.0.1", 0), 128);
    int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    System.out.println("{\"port\":" + port + ",\"recordBytes\":" + store.averageBytes() + "}");
    Stats stats = new Stats();
    while (true) {
      SocketChannel channel = server.accept();
      Thread thread = new Thread(new Connection(channel, store, stats));
      thread.setDaemon(true);
      thread.start();
    }
  }
}

/** The records in the order of `updated`. One that was touched gets a new form and goes to the end. */
final class Store {
  private static final int CHUNK = 1_000;
  private static final int SAME_SECOND = 3;
  private static final int FIRST_SECOND = 1_700_000_000;

  /** So many fit into memory. More are rendered when they are asked for. */
  private static final int MOST_RENDERED = 2_000_000;

  /** As they were at the start, CHUNK of them in a buffer, a comma after each; null: they are rendered when they are asked for. */
  private final ByteBuffer[] chunks;
  /** By number: where the record begins in its chunk, and where the next one does. */
  private final int[] starts;
  private final int[] ends;
  /** Its present form, a comma after it; null as long as it is that of its chunk. */
  private final ByteBuffer[] latest;
  private final int[] updated;
  private final int[] revisions;
  private final Ipo ipo = new Ipo();
  /** Numbers of the records. */
  private int[] order;
  private long bytes = 0;

  Store(int count) {
    chunks = count > MOST_RENDERED ? null : new ByteBuffer[(count + CHUNK - 1) / CHUNK];
    starts = new int[chunks == null ? 0 : count];
    ends = new int[chunks == null ? 0 : count];
    latest = new ByteBuffer[chunks == null ? 0 : count];
    updated = new int[count];
    revisions = new int[count];
    order = new int[count];
    // Wider than a page, as after a migration at the vendor: nobody gets past it by `updated` alone.
    int cluster = Math.min(2_500, count * 6 / 10);
    int clusterStart = (count - cluster) / 2;
    int second = FIRST_SECOND;
    byte[][] rendered = new byte[CHUNK][];
    for (int number = 0; number < count; number++) {
      boolean isClustered = number > clusterStart && number < clusterStart + cluster;
      if (!isClustered && (number % SAME_SECOND == 0 || number == clusterStart || number == clusterStart + cluster)) second++;
      updated[number] = second;
      order[number] = number;
      if (chunks == null && number >= CHUNK) continue;
      int place = number % CHUNK;
      rendered[place] = ipo.render(number, 0, second);
      bytes += rendered[place].length;
      if (chunks != null && (place == CHUNK - 1 || number == count - 1)) fillChunk(number / CHUNK, rendered, place + 1);
    }
  }

  private void fillChunk(int chunk, byte[][] rendered, int count) {
    int size = 0;
    for (int i = 0; i < count; i++) size += rendered[i].length + 1;
    ByteBuffer buffer = ByteBuffer.allocateDirect(size);
    for (int i = 0; i < count; i++) {
      starts[chunk * CHUNK + i] = buffer.position();
      buffer.put(rendered[i]).put((byte) ',');
      ends[chunk * CHUNK + i] = buffer.position();
    }
    chunks[chunk] = buffer;
  }

  long averageBytes() {
    return bytes / Math.max(1, chunks == null ? CHUNK : order.length);
  }

  /** @return the records of a page, one after the other with a comma between; records and whether the newest is among them */
  synchronized Page page(long updatedSince, long pageNumber, int pageSize) {
    long from = Math.min(order.length, firstSince(updatedSince) + pageNumber * pageSize);
    int to = (int) Math.min(order.length, from + pageSize);
    List<ByteBuffer> slices = new ArrayList<>();
    for (int i = (int) from; i < to; ) {
      int number = order[i];
      int next = i + 1;
      if (chunks == null) {
        slices.add(ByteBuffer.wrap(with(',', ipo.render(number, revisions[number], updated[number]))));
      } else if (latest[number] != null) {
        slices.add(latest[number].duplicate());
      } else {
        while (next < to && follows(order[next], order[next - 1])) next++;
        slices.add(chunks[number / CHUNK].duplicate().limit(ends[order[next - 1]]).position(starts[number]));
      }
      i = next;
    }
    if (!slices.isEmpty()) {
      ByteBuffer last = slices.get(slices.size() - 1);
      last.limit(last.limit() - 1);
    }
    return new Page(slices, to - (int) from, to > from && to == order.length);
  }

  private static byte[] with(char end, byte[] form) {
    byte[] longer = Arrays.copyOf(form, form.length + 1);
    longer[form.length] = (byte) end;
    return longer;
  }

  private boolean follows(int number, int before) {
    return number == before + 1 && number % CHUNK != 0 && latest[number] == null;
  }

  private int firstSince(long second) {
    int low = 0;
    int high = order.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (updated[order[middle]] < second) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Gives records another form, and the present second. Of those with an even number the status of the deal changes too. */
  synchronized String touch(int from, int count) {
    int now = (int) Math.max(System.currentTimeMillis() / 1_000, updated[order[order.length - 1]]);
    boolean[] isTouched = new boolean[order.length];
    StringBuilder ids = new StringBuilder();
    int moved = Math.min(count, order.length);
    for (int i = 0; i < moved; i++) {
      int number = (from + i) % order.length;
      isTouched[number] = true;
      updated[number] = now;
      byte[] form = ipo.render(number, ++revisions[number], now);
      if (chunks != null) latest[number] = ByteBuffer.allocateDirect(form.length + 1).put(form).put((byte) ',').flip();
      ids.append(i == 0 ? "" : ",").append('"').append(Ipo.id(number)).append('"');
    }
    int[] moving = new int[order.length];
    int place = 0;
    for (int number : order) if (!isTouched[number]) moving[place++] = number;
    for (int i = 0; i < moved; i++) moving[place++] = (from + i) % order.length;
    order = moving;
    return "{\"updated\":" + now + ",\"ids\":[" + ids + "]}";
  }
}

record Page(List<ByteBuffer> slices, int count, boolean reachesEnd) {}

/** Counts what was asked for and served. Times are Unix milliseconds with fractions; 0: not yet. */
final class Stats {
  private long requests;
  private long empty;
  private long served;
  private long bytes;
  private double firstRequest;
  private double lastRequest;
  private double lastAnswer;
  private boolean isAwaited;
  private double touchAnswered;

  synchronized void reset() {
    requests = empty = served = bytes = 0;
    firstRequest = lastRequest = lastAnswer = touchAnswered = 0;
    isAwaited = false;
  }

  synchronized void requested() {
    lastRequest = now();
    if (requests++ == 0) firstRequest = lastRequest;
  }

  synchronized void answered(Page page, long answerBytes) {
    lastAnswer = now();
    served += page.count();
    bytes += answerBytes;
    if (page.count() == 0) empty++;
    if (isAwaited && page.reachesEnd()) {
      touchAnswered = lastAnswer;
      isAwaited = false;
    }
  }

  synchronized void touched() {
    touchAnswered = 0;
    isAwaited = true;
  }

  synchronized String json() {
    return String.format(
        "{\"requests\":%d,\"empty\":%d,\"served\":%d,\"bytes\":%d,\"firstRequestMs\":%.3f,\"lastRequestMs\":%.3f,"
            + "\"lastAnswerMs\":%.3f,\"touchAnsweredMs\":%.3f}",
        requests, empty, served, bytes, firstRequest, lastRequest, lastAnswer, touchAnswered);
  }

  private static double now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1e3 + now.getNano() / 1e6;
  }
}

/** One connection, kept alive; its thread blocks, and writes each answer at once. */
final class Connection implements Runnable {
  private static final DateTimeFormatter HTTP_DATE = DateTimeFormatter.RFC_1123_DATE_TIME;
  private static final int MOST_IN_PAGE = 1_000;

  private final SocketChannel channel;
  private final Store store;
  private final Stats stats;
  private final ByteBuffer input = ByteBuffer.allocate(65_536).limit(0);

  Connection(SocketChannel channel, Store store, Stats stats) {
    this.channel = channel;
    this.store = store;
    this.stats = stats;
  }

  @Override
  public void run() {
    try (channel) {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      for (boolean isKept = true; isKept; ) {
        String head = readHead();
        isKept = !head.toLowerCase().contains("\r\nconnection: close");
        answer(head.substring(0, head.indexOf("\r\n")).split(" "));
      }
    } catch (IOException gone) {
      // The client has what it wanted.
    }
  }

  /** Without the empty line. What follows it stays in the buffer. */
  private String readHead() throws IOException {
    while (true) {
      for (int i = input.position(); i + 3 < input.limit(); i++) {
        if (input.getInt(i) != 0x0d0a0d0a) continue;
        String head = new String(input.array(), input.position(), i - input.position(), US_ASCII);
        input.position(i + 4);
        return head + "\r\n";
      }
      input.compact();
      int read = input.hasRemaining() ? channel.read(input) : -1;
      input.flip();
      if (read < 0) throw new EOFException();
    }
  }

  private void answer(String[] requestLine) throws IOException {
    String[] target = requestLine[1].split("\\?", 2);
    Map<String, String> query = queryOf(target.length == 1 ? "" : target[1]);
    switch (requestLine[0].equals("GET") ? target[0] : "") {
      case "/api/v2.1/calendar/ipos" -> answerIpos(query);
      case "/stats" -> write(200, stats.json());
      case "/reset" -> {
        stats.reset();
        write(200, "{}");
      }
      case "/touch" -> {
        String touched = store.touch((int) number(query, "from", 0), (int) number(query, "count", 1));
        stats.touched();
        write(200, touched);
      }
      default -> write(404, "{\"message\":\"no such path\"}");
    }
  }

  /** Dates and all else that a query may have are not looked at. */
  private void answerIpos(Map<String, String> query) throws IOException {
    stats.requested();
    if (query.getOrDefault("token", "").isEmpty()) {
      write(401, "{\"message\":\"no token\"}");
      return;
    }
    int size = (int) Math.max(1, Math.min(MOST_IN_PAGE, number(query, "pagesize", 100)));
    Page page = store.page(number(query, "parameters[updated]", 0), number(query, "page", 0), size);
    List<ByteBuffer> body = new ArrayList<>(page.slices().size() + 2);
    body.add(ascii("{\"ipos\":["));
    body.addAll(page.slices());
    body.add(ascii("]}"));
    stats.answered(page, write(200, body));
  }

  private void write(int status, String body) throws IOException {
    write(status, List.of(ByteBuffer.wrap(body.getBytes(UTF_8))));
  }

  /** @return the length of the body */
  private long write(int status, List<ByteBuffer> body) throws IOException {
    long length = body.stream().mapToLong(ByteBuffer::remaining).sum();
    String head = "HTTP/1.1 " + status + (status == 200 ? " OK" : " No") + "\r\nContent-Type: application/json\r\nDate: "
        + HTTP_DATE.format(ZonedDateTime.now(ZoneOffset.UTC)) + "\r\nContent-Length: " + length + "\r\n\r\n";
    ByteBuffer[] all = new ByteBuffer[body.size() + 1];
    all[0] = ascii(head);
    for (int i = 0; i < body.size(); i++) all[i + 1] = body.get(i);
    for (long left = length + all[0].remaining(); left > 0; ) left -= channel.write(all);
    return length;
  }

  private static ByteBuffer ascii(String text) {
    return ByteBuffer.wrap(text.getBytes(US_ASCII));
  }

  private static Map<String, String> queryOf(String text) {
    Map<String, String> query = new HashMap<>();
    for (String part : text.split("&")) {
      String[] pair = part.split("=", 2);
      query.put(URLDecoder.decode(pair[0], UTF_8), pair.length == 1 ? "" : URLDecoder.decode(pair[1], UTF_8));
    }
    return query;
  }

  private static long number(Map<String, String> query, String name, long otherwise) {
    String text = query.getOrDefault(name, "");
    return text.isEmpty() ? otherwise : Long.parseLong(text);
  }
}

/** One record, always the same for a number and a revision. */
final class Ipo {
  private static final String[] STATUSES = {"Rumored", "Initial Filing", "Amended", "Priced", "Closed", "Postponed", "Withdrawn"};
  private static final String[] EXCHANGES = {"NASDAQ", "NYSE", "AMEX", "LSE", "TSX"};
  private static final String[] TYPES = {"Ordinary Shares", "Depository Receipt", "Unit", "SPAC Unit", "Direct Listing"};
  private static final String[] STATES = {"CA", "NY", "TX", "MA", "WA", "DE", "FL", "IL", "Cayman Islands", ""};
  private static final String[] ENDINGS = {"Holdings Inc.", "Acquisition Corp.", "Therapeutics, Inc.", "Group plc", "Ltd.", "Energy Partners LP"};
  /** Characters of the text, at least and at most. */
  private static final int[] DESCRIPTION = {60, 200};

  private final Words words = new Words(new SplittableRandom(1));

  /** 24 hexadecimal digits, in no order. */
  static String id(int number) {
    long mixed = (number + 1) * 0x9e3779b97f4a7c15L;
    mixed = (mixed ^ (mixed >>> 31)) * 0xbf58476d1ce4e5b9L;
    return String.format("%08x%016x", 0x5f000000 + number / 7, mixed ^ (mixed >>> 29));
  }

  byte[] render(int number, int revision, int updated) {
    SplittableRandom random = new SplittableRandom(number * 31L + 7);
    int status = random.nextInt(STATUSES.length);
    // Further draws of a revision change what they give and nothing else.
    SplittableRandom later = new SplittableRandom(number * 31L + 1_000_003L * revision);
    LocalDate date = LocalDate.ofEpochDay(19_000 + random.nextInt(1_500));
    int price = random.nextInt(4, 90);
    long shares = random.nextInt(10, 4_000) * 10_000L + random.nextInt(100) * 100;
    long outstanding = shares * random.nextInt(3, 9) + random.nextInt(100_000);
    String accession = String.format("000%07d-%02d-%06d", random.nextInt(10_000_000), date.getYear() % 100, random.nextInt(1_000_000));
    String name = words.name(random) + " " + pick(ENDINGS, random);
    Json json = new Json();
    json.text("currency", "USD");
    json.text("date", date.toString());
    json.text("deal_status", STATUSES[(status + (number % 2 == 0 ? revision : 0)) % STATUSES.length]);
    json.text("description", words.prose(random, random.nextInt(DESCRIPTION[0], DESCRIPTION[1])));
    json.text("exchange", pick(EXCHANGES, random));
    json.text("id", id(number));
    json.text("initial_filing_date", date.minusDays(random.nextInt(20, 200)).toString());
    json.text("insider_lockup_date", date.plusDays(180).toString());
    json.raw("insider_lockup_days", 180);
    json.text("ipo_type", pick(TYPES, random));
    json.raw("last_yr_income", random.nextInt(-90_000, 60_000) * 1_000L);
    json.raw("last_yr_income_year", date.getYear() - 1);
    json.raw("last_yr_revenue", random.nextInt(900_000) * 1_000L);
    json.raw("last_yr_revenue_year", date.getYear() - 1);
    json.texts("lead_underwriters", underwriters(random, 1, 2));
    json.raw("market_cap_at_offer", outstanding * price);
    json.text("name", name);
    json.text("notes", words.prose(later, random.nextInt(30, 70)));
    json.raw("offering_shares", shares);
    json.raw("offering_shares_ord_adr", shares);
    json.raw("offering_value", shares * price);
    json.raw("open_date_verified", random.nextBoolean());
    json.raw("ord_shares_out_after_offer", outstanding + shares);
    json.texts("other_underwriters", underwriters(random, 0, 2));
    json.text("price_max", price + 2 + ".000");
    json.text("price_min", price - 1 + ".000");
    json.text("price_open", String.format("%d.%04d", price, later.nextInt(10_000)));
    json.text("price_public_offering", price + ".000");
    json.text("pricing_date", date.minusDays(1).toString());
    json.raw("pricing_date_verified", random.nextBoolean());
    json.text("sec_accession_number", accession);
    json.text("sec_filing_url", "https://filings.invalid/Archives/edgar/data/" + random.nextInt(2_000_000) + "/" + accession + ".txt");
    json.raw("shares_outstanding", outstanding);
    json.raw("sic", random.nextInt(1_000, 9_000));
    json.raw("spac_converted_to_target", random.nextInt(5) == 0);
    json.text("state_location", pick(STATES, random));
    json.text("ticker", words.ticker(random));
    json.text("time", String.format("%02d:%02d:%02d", random.nextInt(7, 17), random.nextInt(60), random.nextInt(60)));
    json.text("underwriter_quiet_expiration_date", date.plusDays(25).toString());
    json.raw("underwriter_quiet_expiration_days", 25);
    json.raw("updated", updated);
    return json.bytes();
  }

  private List<String> underwriters(SplittableRandom random, int least, int most) {
    List<String> names = new ArrayList<>();
    for (int i = random.nextInt(least, most + 1); i > 0; i--) names.add(words.name(random) + " Securities");
    return names;
  }

  private static String pick(String[] from, SplittableRandom random) {
    return from[random.nextInt(from.length)];
  }
}

/** Invented words, some of them frequent and most of them rare, so that compressed they shrink as prose does. */
final class Words {
  private static final String[] ONSETS = {"b", "br", "c", "ch", "d", "f", "g", "gr", "h", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "w"};
  private static final String[] VOWELS = {"a", "e", "i", "o", "u", "ea", "io", "ou"};
  private static final String[] CODAS = {"", "", "n", "r", "s", "l", "nd", "st", "ng", "x"};

  private final String[] all = new String[4_000];

  Words(SplittableRandom random) {
    for (int i = 0; i < all.length; i++) {
      StringBuilder word = new StringBuilder();
      for (int syllables = 1 + random.nextInt(i < 200 ? 2 : 3); syllables > 0; syllables--)
        word.append(ONSETS[random.nextInt(ONSETS.length)]).append(VOWELS[random.nextInt(VOWELS.length)]).append(CODAS[random.nextInt(CODAS.length)]);
      all[i] = word.toString();
    }
  }

  private String word(SplittableRandom random) {
    double draw = random.nextDouble();
    return all[(int) (all.length * draw * draw * draw)];
  }

  String prose(SplittableRandom random, int length) {
    StringBuilder text = new StringBuilder(length + 20);
    boolean isFirst = true;
    while (text.length() < length) {
      if (!text.isEmpty()) text.append(' ');
      String word = word(random);
      text.append(isFirst ? capital(word) : word);
      isFirst = random.nextInt(11) == 0;
      if (isFirst) text.append('.');
    }
    return text.append('.').toString();
  }

  String name(SplittableRandom random) {
    return capital(all[random.nextInt(all.length)]) + " " + capital(all[random.nextInt(all.length)]);
  }

  String ticker(SplittableRandom random) {
    StringBuilder letters = new StringBuilder();
    for (int i = random.nextInt(3, 6); i > 0; i--) letters.append((char) ('A' + random.nextInt(26)));
    return letters.toString();
  }

  private static String capital(String word) {
    return Character.toUpperCase(word.charAt(0)) + word.substring(1);
  }
}

/** An object of JSON; its texts have no character that would need an escape. */
final class Json {
  private final StringBuilder out = new StringBuilder(1_600).append('{');

  void text(String name, String value) {
    raw(name, '"' + value + '"');
  }

  void texts(String name, List<String> values) {
    raw(name, values.isEmpty() ? "[]" : "[\"" + String.join("\",\"", values) + "\"]");
  }

  void raw(String name, Object value) {
    out.append(out.length() == 1 ? "\"" : ",\"").append(name).append("\":").append(value);
  }

  byte[] bytes() {
    return out.append('}').toString().getBytes(US_ASCII);
  }
}
