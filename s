pusher-cli state 1
url http://127.0.0.1/
id 
