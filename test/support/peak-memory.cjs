// Loaded before a program (NODE_OPTIONS=--require): tells the file of PEAK_FILE how much memory it took at most, in KB.
const { writeFileSync } = require('node:fs');

process.on('exit', () => writeFileSync(process.env.PEAK_FILE, String(process.resourceUsage().maxRSS)));
