package highwater.outside;

import java.util.List;

/** What was looked at, and what is wrong with it. */
record Check(String name, String summary, List<String> problems) {}
